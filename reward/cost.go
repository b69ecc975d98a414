package reward

import "github.com/longhaul-rl/longhaul/rl"

// cost is what an episode used up: -1 per 1,000 sampled tokens. Weigh it by what a thousand tokens are worth to you.
func init() {
	registerEach("cost", func(_ rl.RewardConfig, t *rl.Trajectory) rl.Score {
		return rl.Score{Value: float64(-t.ActionTokens()) / 1000}
	})
}
