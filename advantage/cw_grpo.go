package advantage

import (
	"math"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { register("cw_grpo", CWGRPO) }

// CWGRPO makes the estimator of "Enhancing LLM-based Search Agents via Contribution Weighted Group Relative Policy
// Optimization" (Wang et al. 2026, arXiv:2604.14267). With A_i grpo's advantage, and c_i,t what turn t of T contributed,
// as a judge says (rl.Score.Turns):
//
//	A_i,t = A_i (T-1) c_i,t / (sum over s < T of c_i,s)   for A_i > 0 and t < T
//	A_i,t = A_i                                           otherwise
//
// A success is credited to the turns that it is owed to. The mean of a member's advantages over its turns stays A_i: credit is
// moved, not made. The last turn, which answers, keeps its own, and so does a failure at every turn: what a turn contributed to
// one is not known. The weights are those that the authors' released runs use, the limit of the paper's softmax over
// contributions of 0 and 1; a graded contribution counts in proportion.
//
// Where the judge gave no contributions, none that can be read (one a turn, finite, 0 or more), or only zeros before the last
// turn, the member has grpo's advantage at every turn.
//
// Assumes what grpo does. Degenerate groups are grpo's.
func CWGRPO(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	return groupwise(c, func(group []Member) [][]float64 {
		a := d.normalised(scores(group))
		out := spread(a, group)
		for i, m := range group {
			if a == nil || a[i] <= 0 {
				continue
			}
			for t, w := range shares(m) {
				out[i][t] = float64(a[i] * w)
			}
		}
		return out
	}), nil
}

// shares are the weights of a member's turns but the last, with a mean of 1; nil where its contributions say nothing.
func shares(m Member) []float64 {
	if len(m.Score.Turns) != len(m.Turns) || len(m.Turns) == 0 {
		return nil
	}
	before := m.Score.Turns[:len(m.Turns)-1]
	sum := 0.0
	for _, c := range before {
		if !(c >= 0) {
			return nil
		}
		sum += c
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return nil
	}
	out := make([]float64, len(before))
	for t, c := range before {
		out[t] = c / sum * float64(len(before))
	}
	return out
}
