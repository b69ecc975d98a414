package activities

import (
	"maps"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Every episode without a score is counted by its own reason.
func TestEvaluationCountsFailures(t *testing.T) {
	b := open(t, "won", "lost", "failed", "unscored")
	b.in.Evaluation = "h"
	record := func(task rl.TaskID, member int, outcome rl.Score) {
		e := &rl.Trajectory{Schema: rl.TrajectorySchema, Task: rl.Task{ID: task, Kind: "k"}, Outcome: outcome}
		if _, err := b.store.PutTrajectory(t.Context(), b.in.trajectoryKey(task, member), e); err != nil {
			t.Fatal(err)
		}
	}
	record("won", greedyMember, rl.Score{Value: 1})
	record("won", sampledMember, rl.Score{Value: 1})
	record("lost", greedyMember, rl.Score{Value: .5})
	record("unscored", greedyMember, rl.Score{Unscored: "the container is gone"})
	record("unscored", sampledMember, rl.Score{Unscored: "failed_judge: 500"})
	put(t, b, store.FailureKey(b.in.trajectoryKey("failed", greedyMember)), rl.Failure{LeftOut: rl.PolicyFailed, Why: "a turn took too long"})
	put(t, b, store.FailureKey(b.in.trajectoryKey("failed", sampledMember)), rl.Failure{LeftOut: rl.EnvFailed, Why: "no container"})
	out, err := b.scoreEvaluation(t.Context(), ScoreEvaluationIn{Stage: b.in.Stage, Tasks: b.in.Tasks})
	if err != nil {
		t.Fatal(err)
	}
	e, err := store.GetJSON[rl.Evaluation](t.Context(), b.store, out.Evaluation)
	if err != nil {
		t.Fatal(err)
	}
	want := map[rl.LeftOut]int{rl.PolicyFailed: 1, rl.EnvFailed: 1, rl.Unscored: 1, rl.JudgeFailed: 1, rl.StoreFailed: 1} // of lost, sampled
	if !maps.Equal(e.Failed, want) || e.Greedy.Hits != 1 || e.Greedy.Of != 2 || e.Sampled.Hits != 1 || e.Sampled.Of != 1 {
		t.Fatalf("%+v, want failed %v", e, want)
	}
}

// A shape that cannot be is the configuration's fault, not a panic.
func TestImpossibleShape(t *testing.T) {
	cfg := rl.Config{Env: rl.EnvConfig{Use: "faulty"}, Policy: rl.PolicyConfig{Use: "tiny", Width: 33, Layers: 1, Hidden: 32, Context: 64}}
	_, _, err := new(Activities).warmUp(t.Context(), nil, cfg, rl.UpdateSpec{})
	if rl.KindOf(err) != rl.Invalid {
		t.Fatal(err)
	}
}
