package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() { register("returns", Returns) }

// Returns makes an estimator by turns: what a turn and those after it earned, discounted, against the group.
//
//	G_i,t = sum over s >= t of gamma^(s-t) r_i,s, where r_i,s is the turn's own reward, and the last one's plus the score
//	A_i,t = (G_i,t - mean(G)) / (std(G) + epsilon), over all turns of all members of i's group
//
// It is REINFORCE's reward to go (Williams 1992) with the group for a baseline, as in "Empowering Multi-Turn Tool-Integrated
// Reasoning with Group Turn Policy Optimization" (Ding et al. 2025, arXiv:2511.14846), without that paper's shaping. A turn
// is credited with what came after it, not with what was earned before. With gamma 1, no rewards by turn and as many turns
// for each member, it is grpo; otherwise a longer member has more say in the baseline, and gamma below 1 makes an early
// success better than a late one. std and epsilon are those of grpo, over turns in place of members.
//
// Assumes that rewards by turn and score are on one scale, and that a score does not hold the rewards by turn already, as reward
// `turns` does (package config refuses it): they would count twice.
//
// Degenerate groups: one member gives 0 (singleton); returns within Tolerance give exactly 0 (zero_variance).
func Returns(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	return groupwise(c, func(group []Member) [][]float64 {
		var all []float64
		for _, m := range group {
			all = append(all, toGo(m, c.Gamma)...)
		}
		normal := d.normalised(all)
		if normal == nil {
			return nil
		}
		out := make([][]float64, len(group))
		for i, m := range group {
			out[i], normal = normal[:len(m.Turns)], normal[len(m.Turns):]
		}
		return out
	}), nil
}

// toGo is the discounted return from each turn on.
func toGo(m Member, gamma float64) []float64 {
	out := make([]float64, len(m.Turns))
	after := m.Score.Value
	for t := len(out) - 1; t >= 0; t-- {
		out[t] = m.Turns[t].Reward + after
		after = float64(gamma * out[t])
	}
	return out
}
