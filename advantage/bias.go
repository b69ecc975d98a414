package advantage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Bias says in what way the rollouts that were left out of some updates differ from the others, where that is more than
// chance: then the batch is no fair sample, and training may lean away from what is missing. What a group's own scores
// leave out (zero_variance, judge_flat, singleton) is no loss and does not count, nor do the members that fall with their group
// (below_quorum): those that it lost first do.
//
// By task: whether some groups lose more members than others, by the binomial index of dispersion
// D = sum over groups of (k - n p)^2 / (n p (1 - p)), chi-square with one degree of freedom less than there are groups
// (Cochran, "Some Methods for Strengthening the Common chi-square Tests", Biometrics 10, 1954). By length: whether those
// left out are longer or shorter than the others, by the rank-sum test with its normal approximation, ties averaged
// (Mann and Whitney, 1947), over the rollouts that have a trajectory. Both at the 1 % level, and from 20 rollouts on.
func Bias(ledgers ...rl.Ledger) (warnings []string) {
	var groups []tallied
	var lengths []length
	for _, l := range ledgers {
		at := map[rl.TaskID]int{}
		for _, s := range l.Slots {
			i, ok := at[s.Task]
			if !ok {
				i = len(groups)
				at[s.Task] = i
				groups = append(groups, tallied{})
			}
			out := lost(s.LeftOut)
			groups[i].of++
			if out {
				groups[i].lost++
			}
			if s.Stop != "" {
				lengths = append(lengths, length{float64(s.Tokens), out})
			}
		}
	}
	if w := byTask(groups); w != "" {
		warnings = append(warnings, w)
	}
	if w := byLength(lengths); w != "" {
		warnings = append(warnings, w)
	}
	return warnings
}

const (
	enoughRollouts = 20
	onePercent     = 2.3263 // standard normal, one-sided
	halfPercent    = 2.5758 // and two-sided
)

type tallied struct{ lost, of int }

// length is a rollout's sampled tokens, and whether it was left out.
type length struct {
	tokens float64
	lost   bool
}

func lost(why rl.LeftOut) bool {
	switch why {
	case "", rl.ZeroVariance, rl.JudgeFlat, rl.Singleton, rl.BelowQuorum:
		return false
	}
	return true
}

func byTask(groups []tallied) string {
	all := tallied{}
	for _, g := range groups {
		all.lost, all.of = all.lost+g.lost, all.of+g.of
	}
	p := float64(all.lost) / float64(max(all.of, 1))
	if all.of < enoughRollouts || len(groups) < 2 || p == 0 || p == 1 {
		return ""
	}
	d, hit := 0.0, 0
	for _, g := range groups {
		n := float64(g.of)
		d += (float64(g.lost) - n*p) * (float64(g.lost) - n*p) / (n * p * (1 - p))
		if g.lost > 0 {
			hit++
		}
	}
	if d <= chiSquare99(float64(len(groups)-1)) {
		return ""
	}
	return fmt.Sprintf("what is left out depends on the task: %d of %d rollouts are missing, in %d of %d groups", all.lost, all.of, hit, len(groups))
}

// chiSquare99 is about the 99 % quantile of chi-square with so many degrees of freedom (Wilson and Hilferty, 1931).
func chiSquare99(df float64) float64 {
	v := 2 / (9 * df)
	return df * math.Pow(1-v+onePercent*math.Sqrt(v), 3)
}

func byLength(all []length) string {
	slices.SortFunc(all, func(a, b length) int { return cmp.Compare(a.tokens, b.tokens) })
	n1, n2, sum1, sum2 := 0.0, 0.0, 0.0, 0.0
	ranks, ties := 0.0, 0.0 // of those left out; sum of t^3 - t over ties of t
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].tokens == all[i].tokens {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		for _, x := range all[i:j] {
			if x.lost {
				n1, sum1, ranks = n1+1, sum1+x.tokens, ranks+float64(i)+(t+1)/2
			} else {
				n2, sum2 = n2+1, sum2+x.tokens
			}
		}
		i = j
	}
	n := n1 + n2
	if n < enoughRollouts || n1 == 0 || n2 == 0 {
		return ""
	}
	u, mean := ranks-n1*(n1+1)/2, n1*n2/2
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 || math.Abs(u-mean)/math.Sqrt(variance) <= halfPercent {
		return ""
	}
	return fmt.Sprintf("what is left out depends on the length: %.0f rollouts of %.0f tokens on average, against %.0f in the batch", n1, sum1/n1, sum2/n2)
}
