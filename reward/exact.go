package reward

import "github.com/longhaul-rl/longhaul/rl"

// exact is the environment's own score, which the rollout recorded as the trajectory's Outcome. It never fails.
func init() {
	registerEach("exact", func(_ rl.RewardConfig, t *rl.Trajectory) rl.Score { return t.Outcome })
}
