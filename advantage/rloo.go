package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() { register("rloo", RLOO) }

// RLOO (REINFORCE, leave one out) makes the estimator of "Buy 4 REINFORCE Samples, Get a Baseline for Free!" (Kool et
// al. 2019) and "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs"
// (Ahmadian et al. 2024, arXiv:2402.14740):
//
//	A_i = r_i - 1/(n-1) sum over j != i of r_j  =  n/(n-1) (r_i - mean(r))
//
// The baseline of a member does not contain its own score, so the estimate of the gradient is unbiased. The scale
// of the advantages is the scale of the scores. The settings' std and epsilon are not used.
//
// Assumes that the members of a group were sampled independently from one policy on one task.
//
// Degenerate groups: one score has no others to compare with and gives 0 (singleton); scores within Tolerance give
// exactly 0 (zero_variance).
func RLOO(c rl.AdvantageConfig) (Estimator, error) {
	return byScore(c, func(scores []float64) []float64 {
		a := divisor{none: true}.normalised(scores)
		n := float64(len(scores))
		for i := range a {
			a[i] *= n / (n - 1)
		}
		return a
	}), nil
}
