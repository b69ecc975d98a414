package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() { register("grpo", GRPO) }

// GRPO makes the estimator of "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models"
// (Shao et al. 2024, arXiv:2402.03300, section 4.1.2):
//
//	A_i = (r_i - mean(r)) / (std(r) + epsilon)
//
// The paper does not say which standard deviation is meant, and systems differ, so both choices are explicit:
//
//	std: population   sqrt(sum (r_i - mean)^2 / n)
//	std: sample       sqrt(sum (r_i - mean)^2 / (n-1))
//	std: none         no division: epsilon is not used (this is dr_grpo)
//
// Assumes that the members of a group were sampled independently from one policy on one task. Dividing by the
// deviation weighs tasks that are almost always or almost never solved more than others (see dr_grpo). Because a
// score is part of its own mean, the estimate is (n-1)/n of the unbiased one (see rloo); the division hides that.
//
// Degenerate groups: one score gives 0 (singleton); scores within Tolerance give exactly 0 (zero_variance),
// whatever epsilon is.
func GRPO(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	return byScore(c, d.normalised), nil
}
