package workers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A run that starts from the best of another copies no byte, knows where it comes from, and stays with what that was when
// it was launched, whatever becomes of the other.
func TestRunFromTheBestOfAnother(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	first := small(t)
	l.run(t, first)
	best, err := l.store.Pointer(t.Context(), first.Name, store.Best)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := l.store.Checkpoint(t.Context(), best)
	if err != nil {
		t.Fatal(err)
	}
	cfg := first
	cfg.Name, cfg.From, cfg.Updates = "second", "best(small)", 1
	chunks := l.keys(t, "cas/")
	cfg.Updates, cfg.Eval.Every = 0, 0
	l.run(t, cfg)
	if now := l.keys(t, "cas/"); !slices.Equal(now, chunks) {
		t.Errorf("%d chunks became %d: bytes were copied", len(chunks), len(now))
	}
	_, begun, err := l.store.FindCheckpoint(t.Context(), cfg.Name, 0)
	if err != nil || begun.Parent == nil || *begun.Parent != best || !slices.EqualFunc(begun.Files, origin.Files, func(a, b rl.File) bool { return a.SHA256 == b.SHA256 }) {
		t.Errorf("%v: it begins with %+v, not with %+v", err, begun, origin)
	}
	_, recorded, err := store.FindJSON[rl.Config](t.Context(), l.store, store.ConfigKey(cfg.Name))
	if want := string(rl.VersionOf(first.Name, origin.Update)); err != nil || recorded.From != want {
		t.Errorf("%v: recorded from %q, want %q", err, recorded.From, want)
	}

	// The other run's best moves on, and all of the other but its newest goes: this run does not notice.
	zero, _, err := l.store.FindCheckpoint(t.Context(), first.Name, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.MovePointer(t.Context(), first.Name, store.Best, zero, false); err != nil {
		t.Fatal(err)
	}
	_, err = l.store.GC(t.Context(), store.GCOptions{Evaluation: workflows.EvaluationKey, Retention: func(rl.Config) store.Retention { return store.Retention{Last: 1} }})
	if err != nil {
		t.Fatal(err)
	}
	l.run(t, cfg)
	for _, run := range []rl.RunID{first.Name, cfg.Name} {
		if report, err := l.store.Verify(t.Context(), run); err != nil || len(report.Faults) > 0 {
			t.Errorf("verify %s: %v %+v", run, err, report.Faults)
		}
	}

	for name, c := range map[string]struct {
		change func(*rl.Config)
		kind   rl.Kind
		says   string
	}{
		"gone":   {func(c *rl.Config) { c.From = "small@7" }, rl.NotFound, "from small@000007: there is no such checkpoint"},
		"nobody": {func(c *rl.Config) { c.From = "best(nobody)" }, rl.NotFound, "from best(nobody): run nobody has no evaluated checkpoint"},
		"shape":  {func(c *rl.Config) { c.From, c.Policy.Width = "small@3", 64 }, rl.Invalid, "tiny of width 32, 1 layers, hidden 64, context 256, this run's is tiny of width 64"},
		"second": {func(c *rl.Config) { c.From = "small@2" }, rl.Conflict, "from: small@2 here"},
	} {
		other := cfg
		other.Name = rl.RunID(name)
		c.change(&other)
		if _, err := workers.Launch(t.Context(), l.client, l.store, l.uri, other); rl.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s: %s", name, err, c.kind, c.says)
		}
	}
}

// A run from another's checkpoint trains, and again to the same bytes.
func TestRunFromAnotherTrains(t *testing.T) {
	ends := map[string]bool{}
	for range 2 {
		l := open(t, t.TempDir(), 2)
		first := small(t)
		first.Updates = 1
		l.run(t, first)
		cfg := first
		cfg.Name, cfg.From, cfg.Updates = "second", "small@1", 1
		ends[l.run(t, cfg).Checkpoint.SHA256] = true
		l.close()
	}
	if len(ends) != 1 {
		t.Errorf("it ended with %v", slices.Collect(maps.Keys(ends)))
	}
}

// keys lists what lies under a prefix.
func (l *line) keys(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	for o, err := range l.store.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}
