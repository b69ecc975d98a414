package advantage

import (
	"math"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { register("max_rl", MaxRL) }

// MaxRL makes the estimator of "Maximum Likelihood Reinforcement Learning" (Tajwar et al. 2026, arXiv:2602.02710):
//
//	A_i = (r_i - mean(r)) / mean(r)
//
// For scores of 0 and 1 it climbs log p, the log-likelihood of a success, in place of p. Since grad log p is the mean of
// grad log pi over successes, and K = n mean(r) of the n members are successes,
//
//	grad log p ~ 1/K sum over successes of grad log pi_i  =  1/n sum r_i / mean(r) grad log pi_i
//
// and the mean of grad log pi_i, whose expectation is 0, may be subtracted. With n members the expectation is exactly the
// gradient of log p's series in the failure rate, -sum over k of (1-p)^k / k, cut off after k = n-1: for 2 members it is
// rloo's. (The paper's n needs a group without a success to keep its -1, which pushes down whatever was tried; as in prime-rl
// it is left out.) A task weighs up to 1/p times what it does under dr_grpo: hard ones are learnt from. The settings' std and
// epsilon are not used. prime-rl's algo/max_rl.py is the same; SkyRL's maxrl adds 1e-6 to the divisor.
//
// Assumes that the members of a group were sampled independently from one policy on one task, and scores from 0 to 1: a
// score below 0 is the likelihood of nothing.
//
// Degenerate groups: one score gives 0 (singleton); scores within Tolerance, and scores whose mean is not above Tolerance
// of the largest magnitude (no success at all, or as much below 0 as above), give exactly 0 (zero_variance).
func MaxRL(c rl.AdvantageConfig) (Estimator, error) {
	return byScore(c, func(scores []float64) []float64 {
		if alike(scores) {
			return nil
		}
		mean, largest := 0.0, 0.0
		for _, s := range scores {
			mean, largest = mean+s, max(largest, math.Abs(s))
		}
		if mean /= float64(len(scores)); mean <= Tolerance*largest {
			return nil
		}
		a, _ := centred(scores)
		for i := range a {
			a[i] /= mean
		}
		return a
	}), nil
}
