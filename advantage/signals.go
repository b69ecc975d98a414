package advantage

import (
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// signals are an update's, from its groups, their scores, its ledger and its batch.
func signals(groups []rl.Group, scores []rl.Scores, ledger rl.Ledger, batch rl.Batch) *rl.Signals {
	s := &rl.Signals{
		Rewards: componentMeans(groups, scores), PassAt: passRates(groups, scores), AdvantageTokens: histogram(batch), Rows: len(batch.Samples),
	}
	all, none, judged := 0, 0, 0
	for i, g := range groups[:min(len(groups), len(scores))] {
		values, _ := tries(g, scores[i])
		if len(values) < 2 {
			continue
		}
		spread := slices.Max(values) - slices.Min(values)
		if asked := scores[i].Spent.Calls > 0; asked && (scores[i].Flat != "" || scores[i].Reward == "judge" && spread <= rl.JudgedSpread) {
			judged++
		}
		switch how := rl.AlikeIn(values[0]); {
		case !alike(values):
		case how == rl.AlikeSolved:
			all++
		case how == rl.AlikeFailed:
			none++
		}
	}
	s.AlikeSolved, s.AlikeFailed, s.JudgedAlike = share(float64(all), len(groups)), share(float64(none), len(groups)), share(float64(judged), len(groups))
	episodes(s, groups, ledger)
	return s
}

// tries are the scores of a group's members that have one, in order, and how many of them solved the task.
func tries(g rl.Group, judged rl.Scores) (values []float64, hits int) {
	for m, t := range g.Trajectories {
		s := scoreOf(g, judged, m)
		if t == nil || !s.Scored() {
			continue
		}
		values = append(values, s.Value)
		if solved(s.Value, t.Outcome) {
			hits++
		}
	}
	return values, hits
}

// componentMeans are the means of the reward components.
func componentMeans(groups []rl.Group, scores []rl.Scores) map[string]float64 {
	sums, counts := map[string]float64{}, map[string]int{}
	for i, g := range groups[:min(len(groups), len(scores))] {
		for m := range g.Trajectories {
			s := scoreOf(g, scores[i], m)
			for name, v := range s.Metrics {
				if s.Scored() && strings.HasPrefix(name, "reward_") && rl.Countable(v) {
					sums[name], counts[name] = sums[name]+v, counts[name]+1
				}
			}
		}
	}
	for name, n := range counts {
		sums[name] /= float64(n)
	}
	return sums
}

// passRates are pass@k for k = 1, 2, 4, ..., as far as a group has so many scored members.
func passRates(groups []rl.Group, scores []rl.Scores) (rates []rl.PassRate) {
	size := 0
	for _, g := range groups {
		size = max(size, len(g.Trajectories))
	}
	for k := 1; k <= size; k *= 2 {
		r := rl.PassRate{K: k}
		for i, g := range groups[:min(len(groups), len(scores))] {
			if values, hits := tries(g, scores[i]); len(values) >= k {
				r.Rate, r.Groups = r.Rate+PassAt(len(values), hits, k), r.Groups+1
			}
		}
		if r.Groups > 0 {
			r.Rate /= float64(r.Groups)
			rates = append(rates, r)
		}
	}
	return rates
}

// PassAt estimates, without bias, how likely at least one of k tries solves a task that c of n tries solved (Chen et al.
// 2021, "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, section 2.1), for 1 <= k <= n:
//
//	pass@k = 1 - C(n-c, k) / C(n, k) = 1 - product over i = n-c+1 ... n of (1 - k/i)
func PassAt(n, c, k int) float64 {
	if n-c < k {
		return 1
	}
	none := 1.0
	for i := n - c + 1; i <= n; i++ {
		none = float64(none * (1 - float64(k)/float64(i)))
	}
	return 1 - none
}

// histogram counts the batch's trained tokens by their advantage; nil without any.
func histogram(b rl.Batch) []int {
	counts := make([]int, len(rl.AdvantageEdges)+1)
	for _, s := range b.Samples {
		for i, trained := range s.LossMask {
			if trained {
				bin, edge := slices.BinarySearch(rl.AdvantageEdges[:], float64(s.Advantages[i]))
				if edge {
					bin++
				}
				counts[bin]++
			}
		}
	}
	if !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
		return nil
	}
	return counts
}

// episodes fills in how long the episodes were, and how many are missing.
func episodes(s *rl.Signals, groups []rl.Group, ledger rl.Ledger) {
	played, later, breaks := 0, 0, map[rl.Break]int{}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if t == nil {
				continue
			}
			played++
			s.Turns += float64(len(t.Turns))
			s.Tokens += float64(t.ActionTokens())
			for i := range t.Turns {
				if rl.Parent(t.Turns, i) >= 0 {
					later++
				}
			}
			for _, why := range t.Breaks() {
				if why != "" && why != rl.Branched {
					breaks[why]++
				}
			}
		}
	}
	broken(s, breaks, later)
	s.Turns, s.Tokens, s.Truncated = share(s.Turns, played), share(s.Tokens, played), share(float64(ledger.Truncated), played)
	lost := 0
	for why, n := range ledger.LeftOut {
		switch why {
		case rl.Unscored, rl.Voided, rl.EnvFailed, rl.PolicyFailed, rl.JudgeFailed, rl.StoreFailed:
			lost += n
		}
	}
	s.Stale, s.Lost = share(float64(ledger.LeftOut[rl.Stale]), ledger.Asked), share(float64(lost), ledger.Asked)
}

// broken fills in how many of the turns that go on from another begin a new row, and why.
func broken(s *rl.Signals, breaks map[rl.Break]int, later int) {
	all := 0
	for why, n := range breaks {
		if s.Breaks == nil {
			s.Breaks = map[rl.Break]float64{}
		}
		all += n
		s.Breaks[why] = share(float64(n), later)
	}
	s.Broken = share(float64(all), later)
}
