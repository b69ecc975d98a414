package config

import (
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
)

// What the keys of a loss must agree on. A key that would change nothing is refused: its owner thinks that it does.

func ratioCap(c rl.Config) (wrong, bool) {
	l := c.Loss
	return disagree(decimal(l.RatioCap), "0, or at least 1 + loss.clip_high, "+decimal(1+l.ClipHigh),
		"below, it would undo the clip", "loss.ratio_cap", "loss.clip_high"), l.RatioCap == 0 || l.Use != "ppo" || l.RatioCap >= 1+l.ClipHigh
}

func ratioCapAlone(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Loss.RatioCap), "0 with use: "+c.Loss.Use, "only ppo has a ratio to cap where the advantage is negative",
		"loss.ratio_cap", "loss.use"), c.Loss.RatioCap == 0 || c.Loss.Use == "ppo"
}

func length(c rl.Config) (wrong, bool) {
	return disagree(fmt.Sprint(c.Loss.Length), "0 with reduction: "+c.Loss.Reduction, "only constant divides by a length",
		"loss.length", "loss.reduction"), c.Loss.Length == 0 || c.Loss.Reduction == "constant"
}

func mismatchCap(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Loss.MismatchCap), "0, or at least 1", "below 1, it would weigh down the tokens that agree",
		"loss.mismatch_cap"), c.Loss.MismatchCap == 0 || c.Loss.MismatchCap >= 1
}

func klInLoss(c rl.Config) (wrong, bool) {
	l := c.Loss
	return disagree("k1", "k2 or k3 with kl_in: loss", "the gradient of k1 is 0 on average: it holds nothing back",
		"loss.kl", "loss.kl_in", "loss.kl_coef"), l.KLCoef == 0 || l.KL != "k1" || l.KLIn != "loss"
}

func referenceUnused(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Loss.Reference), "a loss.kl_coef above 0, or use: dpo", "nothing is compared with the reference",
		"loss.reference", "loss.kl_coef"), c.Loss.Reference == "" || c.ReferenceVersion() != ""
}

func referenceToCome(c rl.Config) (wrong, bool) {
	run, n, err := rl.Version(c.Loss.Reference).Parse()
	return disagree(quoted(c.Loss.Reference), "version 0 of this run, or a version of another", "the run's later versions are made after the first update needs it",
		"loss.reference", "name"), err != nil || run != c.Name || n == 0
}

func preference(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Loss.Beta), "a number above 0 with use: dpo, and 0 with the others", "", "loss.beta", "loss.use"), (c.Loss.Beta > 0) == (c.Loss.Use == "dpo")
}

func preferenceAlone(c rl.Config) (wrong, bool) {
	l := c.Loss
	for _, k := range []struct {
		key   string
		value float64
	}{{"kl_coef", l.KLCoef}, {"entropy_coef", l.EntropyCoef}, {"mismatch_cap", l.MismatchCap}, {"off_policy_mask", l.OffPolicyMask}} {
		if l.Use == "dpo" && k.value != 0 {
			return disagree(decimal(k.value), "0 with use: dpo", "a preference loss has no ratio and holds to its reference by itself", "loss."+k.key, "loss.use"), false
		}
	}
	return wrong{}, true
}
