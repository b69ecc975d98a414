package workers_test

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A run or an evaluation at work on one store is not taken for one of the same name on another, which stays untouched.
// Once it has ended, the name is free on the other.
func TestSameNameOnAnotherStore(t *testing.T) {
	l := start(t, t.TempDir()) // nobody works: what is launched stays running
	cfg := small(t)
	first, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	uri := "s3://" + dev.Bucket + "/other"
	other, err := l.openStore(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		if rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), "runs on the store s3://"+dev.Bucket+", not on "+uri) {
			t.Errorf("%s on another store: %v, want a conflict that names both", what, err)
		}
	}
	_, err = workers.Launch(t.Context(), l.client, other, uri, cfg)
	check("the run", err)
	if runs, err := other.Runs(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("the other store has runs %v, %v; want none", runs, err)
	}
	if again, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg); err != nil || again.GetRunID() != first.GetRunID() {
		t.Errorf("launched again on its own store: %v, %v; want the same run", again, err)
	}
	ref, _, err := store.FindJSON[rl.Config](t.Context(), l.store, store.ConfigKey(cfg.Name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.LaunchEvaluation(t.Context(), l.client, l.store, l.uri, cfg, ref, 0, workflows.EvaluationKey(cfg)); err != nil {
		t.Fatal(err)
	}
	_, err = workers.LaunchEvaluation(t.Context(), l.client, other, uri, cfg, ref, 0, workflows.EvaluationKey(cfg))
	check("the evaluation", err)
	if err := l.client.TerminateWorkflow(t.Context(), workflows.TrainID(cfg.Name), "", "test"); err != nil {
		t.Fatal(err)
	}
	if moved, err := workers.Launch(t.Context(), l.client, other, uri, cfg); err != nil || moved.GetRunID() == first.GetRunID() {
		t.Errorf("launched on the other store when the first has ended: %v, %v; want a run of its own", moved, err)
	}
}
