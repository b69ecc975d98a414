package activities

import (
	"fmt"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// restored is where Restore says a run stands: "NEXT from BASE, learning rate SCALE, best BEST".
func restored(t *testing.T, b *bench) string {
	t.Helper()
	out, err := b.restore(t.Context(), RestoreIn{Stage: b.in.Stage, EvalKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	base, best := "nothing", "-"
	if out.Base != nil {
		base = fmt.Sprint(out.Current)
	}
	if out.Guard.Best != nil {
		best = fmt.Sprint(out.Guard.Best.Update)
	}
	return fmt.Sprintf("%d from %s, rate %g, best %s", out.Next, base, out.Guard.Scale, best)
}

// walked leaves behind what update n leaves: a checkpoint trained from parent, its evaluation and its summary.
func walked(t *testing.T, b *bench, n rl.UpdateNumber, parent *rl.Ref, success float64, told bool) rl.Ref {
	t.Helper()
	file, err := b.store.PutFile(t.Context(), "model.safetensors", []byte(fmt.Sprintf("weights %d", n)))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := b.store.PutCheckpoint(t.Context(), rl.Checkpoint{Schema: rl.CheckpointSchema, Run: run, Update: n, Version: rl.VersionOf(run, n), Parent: parent, Files: []rl.File{file}})
	if err == nil {
		err = b.store.MovePointer(t.Context(), run, store.Latest, ref, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	rate := rl.Rate{Mean: success}
	put(t, b, store.EvaluationKey(run, n, "key"), rl.Evaluation{Schema: rl.EvaluationSchema, Greedy: rate, Sampled: rate})
	if told {
		put(t, b, store.SummaryKey(run, n), rl.UpdateSummary{Schema: rl.UpdateSummarySchema, Update: n})
	}
	return ref
}

// Where a run stands follows from what is stored: after its newest checkpoint; at that update again while it was not
// told of; from the best version after a collapse; and, when a checkpoint behind a collapse is damaged, from before the
// collapse, with the learning rate of then.
func TestRestoreFollowsFromWhatIsStored(t *testing.T) {
	b := open(t, "a")
	b.change(t, func(c *rl.Config) {
		c.Updates, c.Eval, c.Guard = 9, rl.EvalConfig{Every: 1, Promote: "success >= best"}, rl.GuardConfig{Collapse: .5, Retries: 2}
	})
	expect := func(what, want string) {
		t.Helper()
		if got := restored(t, b); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	expect("nothing stored", "0 from nothing, rate 1, best -")
	zero := walked(t, b, 0, nil, .4, true)
	expect("the initial policy", "1 from 0, rate 1, best 0")
	one := walked(t, b, 1, &zero, .8, true)
	walked(t, b, 2, &one, .1, false)
	expect("update 2 not told of", "2 from 1, rate 1, best 1")
	put(t, b, store.SummaryKey(run, 2), rl.UpdateSummary{Schema: rl.UpdateSummarySchema, Update: 2})
	expect("update 2 collapsed", "3 from 1, rate 0.5, best 1")
	walked(t, b, 3, &one, .7, true)
	expect("update 3, from the best", "4 from 3, rate 0.5, best 1")
	if _, err := b.store.Put(t.Context(), store.ChunkKey(store.SHA256([]byte("weights 3"))), []byte("damaged!!")); err != nil {
		t.Fatal(err)
	}
	expect("update 3 damaged", "2 from 1, rate 1, best 1")
}
