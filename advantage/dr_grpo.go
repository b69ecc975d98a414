package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() { register("dr_grpo", DrGRPO) }

// DrGRPO makes the estimator of "Understanding R1-Zero-Like Training: A Critical Perspective" (Liu et al. 2025,
// arXiv:2503.20783):
//
//	A_i = r_i - mean(r)
//
// Without the division by the standard deviation the gradient is the plain policy gradient with the group's mean
// as baseline: tasks weigh as they are, not by how rarely they are solved. The scale of the advantages is then the
// scale of the scores, and the learning rate has to fit it. The settings' std and epsilon are not used. The paper's
// other half, a token sum over a constant in place of a mean, belongs to the loss and is not chosen here.
//
// Assumes that the members of a group were sampled independently from one policy on one task.
//
// Degenerate groups: one score gives 0 (singleton); scores within Tolerance give exactly 0 (zero_variance).
func DrGRPO(c rl.AdvantageConfig) (Estimator, error) {
	return byScore(c, divisor{none: true}.normalised), nil
}
