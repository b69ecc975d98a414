package reward

import "github.com/longhaul-rl/longhaul/rl"

// format is the share of a trajectory's actions that are well formed, from 0 to 1: they say or call something, and every
// call of theirs could be parsed. A trajectory without actions scores 0.
func init() {
	registerEach("format", func(_ rl.RewardConfig, t *rl.Trajectory) rl.Score {
		good := 0
		for _, turn := range t.Turns {
			if wellFormed(turn.Action.Message) {
				good++
			}
		}
		return rl.Score{Value: float64(good) / float64(max(len(t.Turns), 1))}
	})
}

func wellFormed(m rl.Message) bool {
	for _, c := range m.ToolCalls {
		if c.Invalid != "" {
			return false
		}
	}
	return m.Content != "" || len(m.ToolCalls) > 0
}
