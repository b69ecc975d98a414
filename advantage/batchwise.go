package advantage

import "github.com/longhaul-rl/longhaul/rl"

// batchwise normalises the advantages of an update once more, over all members that go into its batch:
//
//	A_i = (a_i - mean(a)) / (std(a) + epsilon)
//
// where a member counts with its weight, above 0, in mean and deviation. estimates hold one value a member, the same at
// each of its turns. Groups that are left out, and members that took no turn, take no part. Where the values are alike
// the whole update holds no relative information: every estimate says so.
func batchwise(c rl.AdvantageConfig, d divisor, groups [][]Member, estimates []Estimate, weight func(Member) float64) []Estimate {
	var values, weights []float64
	part := func(i, j int) bool {
		why := estimates[i].Why
		return (why == "" || keeps(c, why)) && len(groups[i][j].Turns) > 0 && weight(groups[i][j]) > 0
	}
	each := func(do func(i, j int)) {
		for i := range groups {
			for j := range groups[i] {
				if part(i, j) {
					do(i, j)
				}
			}
		}
	}
	each(func(i, j int) {
		values = append(values, estimates[i].Turns[j][0])
		weights = append(weights, weight(groups[i][j]))
	})
	if alike(values) {
		return flat(groups, estimates, len(values))
	}
	mean, by := weighted(values, weights, d)
	each(func(i, j int) {
		for t := range estimates[i].Turns[j] {
			estimates[i].Turns[j][t] = (estimates[i].Turns[j][t] - mean) / by
		}
	})
	return estimates
}

// weighted is the mean of values by weight, and the divisor of their deviations. Weights are whole counts.
func weighted(values, weights []float64, d divisor) (mean, by float64) {
	n, squares := 0.0, 0.0
	for i, v := range values {
		n += weights[i]
		mean += float64(weights[i] * v)
	}
	mean /= n
	for i, v := range values {
		squares += float64(weights[i] * float64((v-mean)*(v-mean)))
	}
	return mean, d.of(squares, n)
}

// flat is the estimates of an update with nothing to compare; those that say why already keep their reason.
func flat(groups [][]Member, estimates []Estimate, members int) []Estimate {
	why := rl.ZeroVariance
	if members <= 1 {
		why = rl.Singleton
	}
	for i, g := range groups {
		if estimates[i].Why == "" {
			estimates[i] = nothing(g, why)
		}
	}
	return estimates
}
