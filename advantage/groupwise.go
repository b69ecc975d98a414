package advantage

import "github.com/longhaul-rl/longhaul/rl"

// What becomes of a group without relative information, as advantage.singleton and advantage.zero_variance say it:
// left out of the batch, or trained on all the same.
const (
	drop = "drop"
	keep = "keep"
)

// keeps reports whether a group that says why is trained on all the same.
func keeps(c rl.AdvantageConfig, why rl.LeftOut) bool {
	return why == rl.Singleton && c.Singleton == keep || why == rl.ZeroVariance && c.ZeroVariance == keep
}

// groupwise makes an estimator that looks at each group by itself. estimate gets two members or more, and gives their
// advantages by member and turn, or nil where nothing distinguishes the members.
func groupwise(c rl.AdvantageConfig, estimate func(group []Member) [][]float64) Estimator {
	return func(groups [][]Member) []Estimate {
		out := make([]Estimate, len(groups))
		for i, g := range groups {
			if len(g) <= 1 {
				out[i] = alone(c, g)
			} else if turns := estimate(g); turns != nil {
				out[i].Turns = turns
			} else {
				out[i] = nothing(g, rl.ZeroVariance)
			}
		}
		return out
	}
}

// byScore makes an estimator whose advantages follow from the scores of a group alone: one a member, or nil.
func byScore(c rl.AdvantageConfig, formula func(scores []float64) []float64) Estimator {
	return groupwise(c, func(group []Member) [][]float64 { return spread(formula(scores(group)), group) })
}

// alone is the estimate of a group with one member or none. It has nothing to compare with: its baseline is 0 where it
// is kept, as in verl and SkyRL, and itself otherwise.
func alone(c rl.AdvantageConfig, group []Member) Estimate {
	if len(group) == 1 && c.Singleton == keep {
		return Estimate{Turns: spread(scores(group), group), Why: rl.Singleton}
	}
	return nothing(group, rl.Singleton)
}

// nothing is the estimate of a group that holds no relative information.
func nothing(group []Member, why rl.LeftOut) Estimate {
	return Estimate{Turns: spread(make([]float64, len(group)), group), Why: why}
}

func scores(group []Member) []float64 {
	out := make([]float64, len(group))
	for i, m := range group {
		out[i] = m.Score.Value
	}
	return out
}

// spread repeats the value of each member for all of its turns. Of nil it makes nil.
func spread(values []float64, group []Member) [][]float64 {
	if values == nil {
		return nil
	}
	out := make([][]float64, len(group))
	for i, m := range group {
		out[i] = make([]float64, len(m.Turns))
		for t := range out[i] {
			out[i][t] = values[i]
		}
	}
	return out
}
