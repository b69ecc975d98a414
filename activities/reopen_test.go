package activities

import (
	"testing"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// What failed, and what the reward did not score, gets another chance, also when the worker died after the scores were moved and
// before the failures were. What is whole, or voided, stays.
// A judge whose answers gave no scores is asked again.
func TestReopen(t *testing.T) {
	b := open(t, "failed", "cut off", "unscored", "voided", "whole")
	ctx := t.Context()
	put := func(key string, v any) {
		t.Helper()
		if _, _, err := store.PutJSON(ctx, b.store, key, v); err != nil {
			t.Fatal(err)
		}
	}
	failure := func(task rl.TaskID) string { return store.FailureKey(b.trajectoryKey(task)) }
	scores := func(task rl.TaskID) string { return store.ScoresKey(run, 1, task) }
	for _, task := range []rl.TaskID{"failed", "cut off", "unscored", "voided", "whole"} {
		score, why := rl.Score{Unscored: "failed_environment: gone"}, rl.EnvFailed
		switch task {
		case "unscored":
			score = rl.Score{Unscored: "judge: no valid reply"}
		case "whole":
			score = rl.Score{Value: 1}
		case "voided":
			score, why = rl.Score{Unscored: "voided: uncertain"}, rl.Voided
		}
		if task != "unscored" && task != "whole" {
			put(failure(task), rl.Failure{LeftOut: why, Why: "gone"})
		}
		if task != "cut off" {
			put(scores(task), rl.Scores{Schema: rl.ScoresSchema, Task: task, Scores: []rl.Score{score}})
		}
	}
	answer := func(task rl.TaskID) string { return store.JudgeReplyKey(run, 1, task, "q") }
	for _, task := range []rl.TaskID{"failed", "unscored", "whole"} {
		put(answer(task), reward.Reply{Text: "no verdict"})
	}
	for i, want := range []ReopenOut{{Groups: 3, Episodes: 2}, {}} {
		if got, err := b.reopen(ctx, b.in.Stage); err != nil || got != want {
			t.Errorf("time %d: %+v %v, want %+v", i+1, got, err, want)
		}
	}
	for key, there := range map[string]bool{
		failure("failed"): false, scores("failed"): false, failure("cut off"): false, scores("unscored"): false,
		failure("voided"): true, scores("voided"): true, scores("whole"): true,
		answer("failed"): true, answer("unscored"): false, answer("whole"): true,
	} {
		if _, err := b.store.Head(ctx, key); (err == nil) != there {
			t.Errorf("%s: %v", key, err)
		}
	}
}
