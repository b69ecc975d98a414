package activities

import (
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/reward"
)

// average is a mean that may have nothing to be of.
type average struct {
	sum float64
	n   int
}

func (a *average) add(v float64) { a.sum, a.n = a.sum+v, a.n+1 }

func (a *average) addIf(v float64, ok bool) {
	if ok {
		a.add(v)
	}
}

// value is nil when there was nothing to be averaged.
func (a *average) value() *float64 {
	if a.n == 0 {
		return nil
	}
	mean := a.sum / float64(a.n)
	return &mean
}

// measured sums up groups that were scored twice; places says that their orders tell of places.
func measured(groups []checked, places bool) JudgeCheck {
	out := JudgeCheck{Groups: len(groups)}
	var self, squares, ties average
	var early []float64
	for _, g := range groups {
		out.Members, out.Unscored = out.Members+len(g.outcomes), out.Unscored+g.unscored
		out.Spent.Add(g.spent)
		self.addIf(reward.TauB(g.twice[0], g.twice[1]))
		for m, one := range g.twice[0] {
			d := one - g.twice[1][m]
			squares.add(float64(d * d))
		}
		for _, scores := range g.twice {
			tied, pairs := reward.Ties(scores)
			ties.sum, ties.n = ties.sum+float64(tied), ties.n+pairs
		}
		var own average
		for _, bias := range g.early {
			own.add(bias)
		}
		if own.n > 0 {
			early = append(early, *own.value())
		}
	}
	out.SelfTauB, out.Ties = self.value(), ties.value()
	if v := squares.value(); v != nil {
		std := math.Sqrt(*v / 2)
		out.SelfStd = &std
	}
	if places {
		out.EarlyBias, out.EarlyBiasError = withError(early)
	}
	out.withOutcomes(groups)
	return out
}

// withOutcomes fills in what compares scores with what the environment said, over both seeds.
func (c *JudgeCheck) withOutcomes(groups []checked) {
	var right, tau average
	var all [2][]float64
	var success []bool
	binary := true
	for _, g := range groups {
		var outcomes []float64
		var twice [2][]float64
		for m, outcome := range g.outcomes {
			if math.IsNaN(outcome) {
				continue
			}
			binary = binary && (outcome <= 0 || outcome >= 1)
			outcomes, success = append(outcomes, outcome), append(success, outcome >= 1)
			for i, scores := range g.twice {
				twice[i], all[i] = append(twice[i], scores[m]), append(all[i], scores[m])
			}
		}
		if len(outcomes) > 0 && slices.Min(outcomes) < slices.Max(outcomes) {
			c.Informative++
		}
		for i, scores := range twice {
			ordered, pairs := reward.Ordered(scores, outcomes)
			right.sum, right.n = right.sum+ordered, right.n+pairs
			if i == 0 {
				c.Pairs += pairs
			}
			tau.addIf(reward.TauB(scores, outcomes))
		}
	}
	c.Accuracy, c.TauB = right.value(), tau.value()
	if binary {
		var auc average
		for _, scores := range all {
			auc.addIf(reward.AUC(scores, success))
		}
		c.AUC = auc.value()
	}
}

// withError is the mean of values and its standard error; nil for none, and for the error of one.
func withError(values []float64) (mean, err *float64) {
	var all, squares average
	for _, v := range values {
		all.add(v)
	}
	if mean = all.value(); len(values) < 2 {
		return mean, nil
	}
	for _, v := range values {
		squares.add(float64((v - *mean) * (v - *mean)))
	}
	e := math.Sqrt(squares.sum / float64(len(values)-1) / float64(len(values)))
	return mean, &e
}
