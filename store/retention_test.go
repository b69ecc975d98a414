package store

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// chain is a run of n checkpoints, each trained from the one before.
func chain(n int) held {
	h := held{parents: map[rl.UpdateNumber]rl.UpdateNumber{}, success: map[rl.UpdateNumber]float64{}, needed: map[rl.UpdateNumber][]string{}}
	for i := range rl.UpdateNumber(n) {
		h.parents[i] = i - 1
	}
	return h
}

func TestRetentionByExample(t *testing.T) {
	h := chain(11) // 0 to 10
	h.success = map[rl.UpdateNumber]float64{0: .1, 2: .9, 4: .7, 6: .9, 8: .2, 10: .5}
	h.needed = map[rl.UpdateNumber][]string{3: {"pinned: x"}, 99: {"of another run"}}
	for _, c := range []struct {
		rule Retention
		want []rl.UpdateNumber
	}{
		{Retention{}, []rl.UpdateNumber{3, 9, 10}}, // the newest, its parent, and what is pinned
		{Retention{Last: 3}, []rl.UpdateNumber{3, 8, 9, 10}},
		{Retention{Last: 1, Best: 1}, []rl.UpdateNumber{3, 6, 9, 10}}, // of equal ones the newer
		{Retention{Last: 1, Best: 3}, []rl.UpdateNumber{2, 3, 4, 6, 9, 10}},
		{Retention{Last: 1, Every: 5}, []rl.UpdateNumber{0, 3, 5, 9, 10}},
		{Retention{Last: 99, Best: 99}, []rl.UpdateNumber{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		if got := slices.Sorted(maps.Keys(c.rule.keep(h))); !slices.Equal(got, c.want) {
			t.Errorf("%+v keeps %v, want %v", c.rule, got, c.want)
		}
	}
	if got := (Retention{Last: 2, Best: 1, Every: 5}).keep(h); strings.Join(got[10], ", ") != "newest, every 5" {
		t.Errorf("10 is kept since it is %q", got[10])
	}
}

// Whatever a run holds: what must stay stays, nothing is kept without a reason, and a rule that asks for more never
// keeps less.
func TestRetentionKeepsWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 60), func(n int) rl.UpdateNumber { return rl.UpdateNumber(n) }), 1, 20, rapid.ID).Draw(t, "updates")
		slices.Sort(numbers)
		h := chain(0)
		for i, n := range numbers {
			h.parents[n] = -1
			if i > 0 {
				h.parents[n] = rapid.SampledFrom(numbers[:i]).Draw(t, "parent")
			}
			if rapid.Bool().Draw(t, "evaluated") {
				h.success[n] = float64(rapid.IntRange(0, 4).Draw(t, "success")) / 4
			}
			if rapid.IntRange(0, 5).Draw(t, "pinned") == 0 {
				h.needed[n] = []string{"pinned"}
			}
		}
		r := Retention{Last: rapid.IntRange(0, 8).Draw(t, "last"), Best: rapid.IntRange(0, 8).Draw(t, "best"), Every: rapid.IntRange(0, 8).Draw(t, "every")}
		kept := r.keep(h)
		newest := numbers[len(numbers)-1]
		must := slices.Concat(numbers[max(0, len(numbers)-max(1, r.Last)):], slices.Collect(maps.Keys(h.needed)))
		if p := h.parents[newest]; p >= 0 {
			must = append(must, p)
		}
		for n := range h.success {
			better := 0
			for m, s := range h.success {
				if s > h.success[n] || s == h.success[n] && m > n {
					better++
				}
			}
			if better < r.Best {
				must = append(must, n)
			}
		}
		for _, n := range numbers {
			if r.Every > 0 && int(n)%r.Every == 0 {
				must = append(must, n)
			}
		}
		slices.Sort(must)
		if got, want := slices.Sorted(maps.Keys(kept)), slices.Compact(must); !slices.Equal(got, want) {
			t.Fatalf("%+v of %+v keeps %v, want %v", r, h, got, want)
		}
		more := Retention{Last: r.Last + 1, Best: r.Best + 1, Every: r.Every}.keep(h)
		for n, why := range kept {
			if len(why) == 0 || len(more[n]) == 0 {
				t.Fatalf("%d is kept for no reason, or no more by a wider rule", n)
			}
		}
	})
}
