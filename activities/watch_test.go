package activities

import (
	"reflect"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// observed is the summary of an update, as Publish would write it.
func (b *bench) observed(t *testing.T, n rl.UpdateNumber) rl.UpdateSummary {
	t.Helper()
	s := rl.UpdateSummary{Run: run, Update: n, Time: time.Unix(int64(n), 0).UTC(), Metrics: map[string]float64{"kl": .001, "tokens": 9}}
	if err := observe(t.Context(), b.store, rl.Config{}, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// An update's warnings follow from what is stored: asked for again, by whoever and after whatever damage, they are the same.
func TestObserveAgain(t *testing.T) {
	b := open(t)
	lost := []float64{0, 0, .5, .5, .5, 0, .5}
	var first []rl.UpdateSummary
	for i, share := range lost {
		n := rl.UpdateNumber(i + 1)
		put(t, b, store.LedgerKey(run, n), rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: n, Signals: &rl.Signals{Lost: share}})
		s := b.observed(t, n)
		put(t, b, store.SummaryKey(run, n), s)
		first = append(first, s)
		if want := n == 3 || n == 7; want != (len(s.Events) == 1) || s.Signals.Lost != share {
			t.Errorf("update %d: %+v %+v", n, s.Events, s.Signals)
		}
	}
	for i, want := range first {
		if got := b.observed(t, rl.UpdateNumber(i+1)); !reflect.DeepEqual(got, want) {
			t.Errorf("update %d again: %+v, not %+v", i+1, got, want)
		}
	}
	if _, err := b.store.Put(t.Context(), store.SummaryKey(run, 4), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got := b.observed(t, 5); len(got.Events) > 0 || got.Watch.Standing["rollouts_lost"] != 3 {
		t.Errorf("after a damaged summary: %+v, %+v", got.Events, got.Watch)
	}
	put(t, b, store.SummaryKey(run, 4), rl.UpdateSummary{Run: run, Update: 4}) // by a version that watched nothing
	if got := b.observed(t, 5); len(got.Events) != 1 || got.Watch.Standing["rollouts_lost"] != 5 {
		t.Errorf("after a summary without a watch: %+v, %+v", got.Events, got.Watch)
	}
}
