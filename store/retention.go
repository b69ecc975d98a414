package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Retention says which checkpoints of a run are kept.
type Retention struct {
	Last  int // the newest so many; the newest of all is kept anyway
	Best  int // so many of the highest success
	Every int // those whose update number is a multiple; 0: none for that
}

// held is what retention looks at: the checkpoints of one run.
type held struct {
	parents map[rl.UpdateNumber]rl.UpdateNumber // of every checkpoint; -1: of no checkpoint of this run
	success map[rl.UpdateNumber]float64         // of those that were evaluated
	needed  map[rl.UpdateNumber][]string        // by pointers, pins and jobs under way, in words
}

// keep is the checkpoints that stay, each with why, in words: the union of the newest, the best, every so many, what
// something refers to, and what the newest was trained from, since an interrupted run may make its newest once more.
func (r Retention) keep(h held) map[rl.UpdateNumber][]string {
	kept := map[rl.UpdateNumber][]string{}
	newestFirst := slices.Sorted(maps.Keys(h.parents))
	slices.Reverse(newestFirst)
	for i, n := range newestFirst {
		if i < max(1, r.Last) {
			kept[n] = append(kept[n], "newest")
		}
		if r.Every > 0 && int(n)%r.Every == 0 {
			kept[n] = append(kept[n], fmt.Sprintf("every %d", r.Every))
		}
	}
	for _, n := range best(newestFirst, h.success, r.Best) {
		kept[n] = append(kept[n], "best evaluated")
	}
	for n, why := range h.needed {
		if _, there := h.parents[n]; there {
			kept[n] = append(kept[n], why...)
		}
	}
	if len(newestFirst) > 0 {
		newest := newestFirst[0]
		if p := h.parents[newest]; p >= 0 && len(kept[p]) == 0 {
			if _, there := h.parents[p]; there {
				kept[p] = []string{fmt.Sprintf("update %d was trained from it", newest)}
			}
		}
	}
	return kept
}

// best are the m evaluated checkpoints of the highest success; of equal ones the newer.
func best(newestFirst []rl.UpdateNumber, success map[rl.UpdateNumber]float64, m int) []rl.UpdateNumber {
	var evaluated []rl.UpdateNumber
	for _, n := range newestFirst {
		if _, ok := success[n]; ok {
			evaluated = append(evaluated, n)
		}
	}
	slices.SortStableFunc(evaluated, func(a, b rl.UpdateNumber) int { return cmp.Compare(success[b], success[a]) })
	return evaluated[:min(max(0, m), len(evaluated))]
}

// words says what a checkpoint that goes is not.
func (r Retention) words() string {
	w := fmt.Sprintf("neither one of the newest %d nor of the best %d", max(1, r.Last), r.Best)
	if r.Every > 0 {
		w += fmt.Sprintf(" nor a multiple of %d", r.Every)
	}
	return w + ", and nothing refers to it"
}
