package activities

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// collect runs a gc without grace that keeps the newest checkpoint and what is needed.
func collect(t *testing.T, b *bench) store.GCReport {
	t.Helper()
	report, err := b.store.GC(t.Context(), store.GCOptions{
		Retention:  func(rl.Config) store.Retention { return store.Retention{Last: 1} },
		Evaluation: func(rl.Config) string { return "key" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Where a run stands does not depend on what gc removed: what evaluations of retired versions decided still counts. A
// run that has to begin anew makes retired checkpoints again.
func TestRestoreAfterGC(t *testing.T) {
	b := open(t, "a")
	b.change(t, func(c *rl.Config) {
		c.Updates, c.Eval, c.Guard = 9, rl.EvalConfig{Every: 1, Promote: "success >= best"}, rl.GuardConfig{Collapse: .5, Retries: 2}
	})
	zero := walked(t, b, 0, nil, .4, true)
	one := walked(t, b, 1, &zero, .8, true)
	walked(t, b, 2, &one, .1, true) // collapsed
	three := walked(t, b, 3, &one, .7, true)
	walked(t, b, 4, &three, .75, false)
	if err := b.store.MovePointer(t.Context(), run, store.Best, one, false); err != nil {
		t.Fatal(err)
	}
	const want = "4 from 3, rate 0.5, best 1"
	if got := restored(t, b); got != want {
		t.Fatalf("before gc: %s, want %s", got, want)
	}
	if r := collect(t, b); r.Freed.Checkpoints != 2 { // 0 and 2
		t.Fatalf("%+v", r)
	}
	if got := restored(t, b); got != want {
		t.Errorf("after gc: %s, want %s", got, want)
	}
	for _, n := range []string{"1", "3", "4"} {
		if _, err := b.store.Put(t.Context(), store.ChunkKey(store.SHA256([]byte("weights "+n))), []byte("damaged")); err != nil {
			t.Fatal(err)
		}
	}
	if got := restored(t, b); got != "0 from nothing, rate 1, best -" {
		t.Errorf("nothing is whole: %s", got)
	}
	walked(t, b, 0, nil, .4, true)
}

// An evaluation keeps the version that it plays until it is over.
func TestEvaluationPinsItsVersion(t *testing.T) {
	b := open(t, "a")
	zero := walked(t, b, 0, nil, 0, true)
	one := walked(t, b, 1, &zero, 0, true)
	two := walked(t, b, 2, &one, 0, true)
	walked(t, b, 3, &two, 0, true)
	in := b.in
	in.Update, in.Evaluation, in.Members = 1, "asked", 2
	in.Version = rl.VersionOf(run, 1)
	in.Tasks = put(t, b, in.tasksKey(), []rl.Task{{ID: "a", Env: "faulty"}})
	var played atomic.Int64
	var sweeping sync.Mutex
	b.answer = func(http.ResponseWriter, *http.Request, string) bool {
		played.Add(1)
		sweeping.Lock() // the members play side by side, and one gc works on a store
		defer sweeping.Unlock()
		collect(t, b)
		return false
	}
	if _, err := b.runTrajectories(t.Context(), in, now()); err != nil || played.Load() == 0 {
		t.Fatal(played.Load(), err)
	}
	if _, err := b.store.Checkpoint(t.Context(), one); err != nil {
		t.Fatalf("the version that is played: %v", err)
	}
	if _, err := b.scoreEvaluation(t.Context(), ScoreEvaluationIn{Stage: in.Stage, Tasks: in.Tasks}); err != nil {
		t.Fatal(err)
	}
	report := collect(t, b)
	if gone := report.Runs[0].Retired; len(gone) != 1 || gone[0].Version != rl.VersionOf(run, 1) {
		t.Errorf("after the evaluation: %+v", report.Runs)
	}
	// One that was killed keeps it for as long as its lease lasts.
	if err := b.store.Pin(t.Context(), run, 2, "eval-killed", "a killed evaluation", time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, k := range collect(t, b).Runs[0].Kept {
		if k.Version == rl.VersionOf(run, 2) && !strings.Contains(k.Why, "pinned: a killed evaluation") {
			t.Errorf("%+v", k)
		}
	}
}
