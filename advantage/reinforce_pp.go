package advantage

import "github.com/longhaul-rl/longhaul/rl"

func init() {
	register("reinforce_pp", ReinforcePP)
	register("reinforce_pp_baseline", ReinforcePPBaseline)
}

// ReinforcePP makes the estimator of "REINFORCE++: A Simple and Efficient Approach for Aligning Large Language Models"
// (Hu et al. 2025, arXiv:2501.03262):
//
//	A_i = (r_i - mean(r)) / (std(r) + epsilon), mean and deviation over all sampled tokens of the update's batch
//
// One baseline for all tasks in place of one a group: it is not made of a handful of scores, and a member needs no others of
// its task. In exchange a hard task is pushed down and an easy one up, whatever was done. std says which deviation is meant:
// of N sampled tokens, "sample" divides by N - 1, as verl and SkyRL do; they add 1e-8 to the variance, longhaul epsilon to
// the deviation. The paper's KL penalty is part of its reward; here the loss has that.
//
// Assumes that the members were sampled from one policy, and that scores of different tasks are on one scale.
//
// Degenerate: a group says nothing by itself. Where all scores of the update lie within Tolerance every advantage is exactly
// 0 (zero_variance; singleton for one member in all).
func ReinforcePP(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	return func(groups [][]Member) []Estimate {
		raw := make([]Estimate, len(groups))
		for i, g := range groups {
			raw[i].Turns = spread(scores(g), g)
		}
		return batchwise(c, d, groups, raw, sampledTokens)
	}, nil
}

// ReinforcePPBaseline makes the same paper's estimator for several members a task, REINFORCE++-baseline:
//
//	a_i = r_i - mean(r of i's group)
//	A_i = (a_i - mean(a)) / (std(a) + epsilon), mean and deviation over all sampled tokens of the update's batch
//
// The group's mean takes the task's difficulty away, and the batch's deviation scales all tasks alike, so that a group that
// hardly differs is not blown up as by grpo.
//
// Assumes that the members of a group were sampled independently from one policy on one task.
//
// Degenerate groups: one score gives 0 (singleton); scores within Tolerance give exactly 0 (zero_variance). They take no part
// in the batch's mean and deviation unless they are kept.
func ReinforcePPBaseline(c rl.AdvantageConfig) (Estimator, error) {
	d, err := divisorOf(c)
	if err != nil {
		return nil, err
	}
	centre := byScore(c, divisor{none: true}.normalised)
	return func(groups [][]Member) []Estimate {
		return batchwise(c, d, groups, centre(groups), sampledTokens)
	}, nil
}

func sampledTokens(m Member) float64 {
	n := 0
	for _, turn := range m.Turns {
		n += len(turn.Action.Tokens)
	}
	return float64(n)
}
