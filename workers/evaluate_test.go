package workers_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A person evaluates the version that the run is about to evaluate: the run waits for that, and goes on.
func TestEvaluationUnderWayElsewhere(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := small(t)
	cfg.Updates = 1
	id := workflows.EvaluateID(rl.VersionOf(cfg.Name, 0), workflows.EvaluationKey(cfg))
	if _, err := l.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody works here"}, workflows.Evaluate, workflows.EvaluateIn{}); err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg); err != nil {
		t.Fatal(err)
	}
	l.await(t, store.SummaryKey(cfg.Name, 0))
	time.Sleep(time.Second) // Train has met the other evaluation by now
	if err := l.client.TerminateWorkflow(t.Context(), id, "", "done with it"); err != nil {
		t.Fatal(err)
	}
	l.run(t, cfg)
	for _, n := range []rl.UpdateNumber{0, 1} {
		if _, err := l.store.Head(t.Context(), store.EvaluationKey(cfg.Name, n, workflows.EvaluationKey(cfg))); err != nil {
			t.Errorf("the evaluation of version %d: %v", n, err)
		}
	}
}
