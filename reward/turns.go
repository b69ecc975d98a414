package reward

import "github.com/longhaul-rl/longhaul/rl"

// turns is the sum of what the environment gave turn by turn, undiscounted; 0 in worlds that give nothing.
func init() {
	registerEach("turns", func(_ rl.RewardConfig, t *rl.Trajectory) rl.Score {
		sum := 0.0
		for _, turn := range t.Turns {
			sum += turn.Reward
		}
		return rl.Score{Value: sum}
	})
}
