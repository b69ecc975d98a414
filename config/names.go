package config

// Names are the registered names that run.yaml may use. A nil list leaves that key unchecked.
type Names struct {
	Envs       []string // env.use
	Rewards    []string // reward.use
	Advantages []string // advantage.use
	Losses     []string // loss.use
	Policies   []string // policy.use
	Launchers  []string // update.use
}
