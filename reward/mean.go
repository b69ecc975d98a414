package reward

import (
	"fmt"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// fill gives the members their scores from the passes' verdicts.
func (p *panel) fill(out *rl.Scores, passes [][]verdict) {
	n := len(p.brief.attempts)
	means := make([]float64, n)
	for k := range n {
		scores := make([]float64, len(passes))
		for i, v := range passes {
			scores[i] = v[k].score
		}
		slices.Sort(scores) // so that the same scores in other passes are a tie to the last bit
		means[k] = mean(scores)
	}
	out.Flat = p.flat(passes, means)
	for k, a := range p.brief.attempts {
		s := rl.Score{Value: means[k], Reason: passes[0][k].reason, Turns: meanTurns(passes, k)}
		if len(passes) > 1 {
			s.Metrics = map[string]float64{}
			for i, v := range passes {
				s.Metrics[fmt.Sprintf("judge_pass_%d", i+1)] = v[k].score
			}
		}
		if out.Flat != "" {
			s.Value = mean(means)
		}
		for _, i := range a.members {
			out.Scores[i] = s
		}
	}
}

// flat says that the attempts differ no more than the passes do, by a two-way analysis of variance (Fisher, Statistical Methods
// for Research Workers, 1925) without replication, with attempts and passes as factors. Of n attempts in P passes, with mean_k
// that of an attempt and mean_p that of a pass:
//
//	b = P sum (mean_k - mean)^2 / (n-1)                              between attempts
//	w = sum (s_pk - mean_k - mean_p + mean)^2 / ((n-1) (P-1))        within, what is left once each pass's mean is taken off
//
// b = w is what chance alone gives, and the group is flat when b <= dead_band^2 w. A pass that is kinder to all is not noise: its
// gaps are the same.
func (p *panel) flat(passes [][]verdict, means []float64) string {
	count, n := float64(len(passes)), float64(len(means))
	if len(passes) < 2 || p.config.DeadBand == 0 {
		return ""
	}
	between, within, all := 0.0, 0.0, mean(means)
	for _, m := range means {
		between += float64((m - all) * (m - all))
	}
	for _, v := range passes {
		kind := -all // how much kinder the pass is than all together
		for k := range means {
			kind += v[k].score / n
		}
		for k, m := range means {
			d := v[k].score - m - kind
			within += float64(d * d)
		}
	}
	between, within = count*between/(n-1), within/((n-1)*(count-1))
	if within < agreed || between > float64(p.config.DeadBand*p.config.DeadBand)*within {
		return ""
	}
	return fmt.Sprintf("the attempts differ by %.3f, the passes by %.3f: no more than dead_band, %g times that (standard deviations of a score)", math.Sqrt(between), math.Sqrt(within), p.config.DeadBand)
}

// agreed is below what passes that agree differ by: nothing but rounding. A variance.
const agreed = 1e-18

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x
	}
	return m / float64(len(v))
}

// meanTurns is an attempt's contributions by turn, over the passes.
func meanTurns(passes [][]verdict, k int) []float64 {
	if passes[0][k].turns == nil {
		return nil
	}
	out := make([]float64, len(passes[0][k].turns))
	for _, v := range passes {
		for t, x := range v[k].turns {
			out[t] += x / float64(len(passes))
		}
	}
	return out
}
