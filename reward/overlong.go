package reward

import "github.com/longhaul-rl/longhaul/rl"

// overlong is the soft overlong punishment of "DAPO: An Open-Source LLM Reinforcement Learning System at Scale" (Yu et al.
// 2025, arXiv:2503.14476, equation 13). With L the sampled tokens of an episode, M reward.overlong_max and B
// reward.overlong_buffer:
//
//	 0              L <= M - B
//	((M - B) - L)/B  M - B < L <= M
//	-1              L > M
//
// With B = 0 it falls from 0 to -1 at M. With M = 0 it is always 0.
func init() {
	registerEach("overlong", func(c rl.RewardConfig, t *rl.Trajectory) rl.Score {
		return rl.Score{Value: overlong(t.ActionTokens(), c.OverlongMax, c.OverlongBuffer)}
	})
}

func overlong(length, most, buffer int) float64 {
	switch soft := most - buffer; {
	case most == 0 || length <= soft:
		return 0
	case length > most:
		return -1
	default:
		return float64(soft-length) / float64(buffer)
	}
}
