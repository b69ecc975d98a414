package activities

import (
	"cmp"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// preference is the loss that learns from pairs in place of advantages: direct preference optimisation. It knows the behaviour
// policy of no row, so that batches of any age will do.
const preference = "dpo"

// Losses are the names that loss.use may have with the embedded trainer, sorted.
func Losses() []string {
	names := append(nn.Losses(), preference)
	slices.Sort(names)
	return names
}

// pairsOf makes preference pairs of a batch: in each group the best member with the worst, the second best with the second
// worst and so on, as long as they differ by more than rounding, in the order of the batch. Members of more than one row have no one answer that could be preferred,
// and are left out. rows[i] is samples[i].
func pairsOf(samples []rl.Sample, rows []*nn.Example) (pairs []nn.Pair) {
	type member struct {
		advantage float64
		row       *nn.Example
	}
	count := map[rl.EpisodeID]int{}
	for _, s := range samples {
		count[s.Episode]++
	}
	var order []rl.TaskID
	groups := map[rl.TaskID][]member{}
	for i, s := range samples {
		if count[s.Episode] > 1 {
			continue
		}
		if groups[s.Episode.Task] == nil {
			order = append(order, s.Episode.Task)
		}
		groups[s.Episode.Task] = append(groups[s.Episode.Task], member{meanAdvantage(s), rows[i]})
	}
	for _, task := range order {
		g := groups[task]
		slices.SortStableFunc(g, func(a, b member) int { return cmp.Compare(b.advantage, a.advantage) })
		for i, j := 0, len(g)-1; i < j && better(g[i].advantage, g[j].advantage); i, j = i+1, j-1 {
			pairs = append(pairs, nn.Pair{Chosen: g[i].row, Rejected: g[j].row})
		}
	}
	return pairs
}

// rounding is how far means of equal advantages, which are float32, may lie apart, relative to their size where that is above 1.
const rounding = 1e-6

// better reports whether one advantage is above another by more than rounding.
func better(one, other float64) bool {
	return one-other > rounding*max(1, math.Abs(one), math.Abs(other))
}

// meanAdvantage is the mean over a row's trained tokens.
func meanAdvantage(s rl.Sample) float64 {
	sum, n := 0.0, 0
	for i, trained := range s.LossMask {
		if trained {
			sum += float64(s.Advantages[i])
			n++
		}
	}
	return sum / float64(max(n, 1))
}
