package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// wholeRun stores a run with one object of every kind, and returns its checkpoints and the key of its update job.
func wholeRun(t testing.TB, s *store.Store, run rl.RunID) (refs []rl.Ref, job string) {
	t.Helper()
	ctx := t.Context()
	put := func(key string, v any) rl.Ref {
		t.Helper()
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return must[rl.Ref](t)(s.PutNew(ctx, key, body))
	}
	config := put(store.ConfigKey(run), rl.Config{Name: run, Env: rl.EnvConfig{Use: "orders", EpisodeTimeout: 1, TurnTimeout: 1}})
	task := rl.Task{ID: "train-1", Env: "orders", Split: rl.Train, Index: 1}
	put(store.TasksKey(run, 1), []rl.Task{task})
	episode := rl.EpisodeID{Run: run, Update: 1, Task: task.ID}
	must[*rl.Trajectory](t)(s.PutTrajectory(ctx, store.TrajectoryKey(episode), trajectory(episode, 2)))
	put(store.ScoresKey(run, 1, task.ID), rl.Scores{Schema: rl.ScoresSchema, Task: task.ID, Reward: "exact", Scores: []rl.Score{{Value: 1}}})
	batch := must[rl.Ref](t)(s.PutNew(ctx, store.BatchKey(run, 1), store.EncodeBatch(rows())))
	ledger := rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: 1, Asked: 1, Trained: 1, Slots: []rl.Slot{{Task: task.ID, Samples: 1}}}
	ledger.Balance()
	put(store.LedgerKey(run, 1), ledger)
	put(store.CurriculumKey(run, 1), rl.Curriculum{Schema: rl.CurriculumSchema, Run: run, Update: 1})
	is(t, s.Journal(store.JournalPrefix(run, 1)).Append(ctx, rl.Entry{Member: rl.Member{Task: task.ID}, Turn: &rl.Recorded{}}), "")
	refs = publish(t, s, run, 2)
	is(t, s.MovePointer(ctx, run, store.Best, refs[1], false), "")
	spec := rl.UpdateSpec{Schema: rl.UpdateSpecSchema, Run: run, Update: 1, Config: config, Base: &refs[0], Batch: &batch, TrainedTokens: 3}
	job = store.SHA256(rl.CanonicalJSON(spec))
	must[rl.Ref](t)(s.PutNew(ctx, store.JobSpecKey(job), rl.CanonicalJSON(spec)))
	made := must[rl.Checkpoint](t)(s.Checkpoint(ctx, refs[1]))
	put(store.JobResultKey(job), rl.UpdateResult{Schema: rl.UpdateResultSchema, Spec: job, Files: made.Files, TokensConsumed: 3})
	put(store.SummaryKey(run, 1), rl.UpdateSummary{Schema: rl.UpdateSummarySchema, Run: run, Update: 1, Checkpoint: refs[1]})
	put(store.EvaluationKey(run, 1, "h"), rl.Evaluation{Schema: rl.EvaluationSchema, Run: run})
	played := store.EvaluationTrajectoryKey(run, 1, "h", "greedy", "eval-1")
	must[*rl.Trajectory](t)(s.PutTrajectory(ctx, played, trajectory(rl.EpisodeID{Run: run, Update: 1, Task: "eval-1"}, 1)))
	return refs, job
}

func verify(t *testing.T, s *store.Store) {
	ctx := t.Context()
	_, err := s.Verify(ctx, "none")
	is(t, err, rl.NotFound)
	const run = "a"
	refs, job := wholeRun(t, s, run)
	wholeRun(t, s, "other")
	report := must[store.Report](t)(s.Verify(ctx, run))
	// 2 pointers, 2 manifests and their 4 chunks, 10 other objects of update 1, its config and the job's two.
	if len(report.Faults) > 0 || report.Objects != 21 || report.Bytes < 2000 {
		t.Fatalf("a whole run: %+v", report)
	}
	reward := rl.CanonicalJSON(rl.RewardConfig{Use: "exact"})
	other := store.SHA256(reward)
	must[rl.Ref](t)(s.PutNew(ctx, store.RewardKey(run, other), reward))
	must[rl.Ref](t)(s.PutNew(ctx, store.RescoredKey(run, 1, "train-1", other), []byte(`{"schema":"longhaul/scores/1","task":"train-1"}`)))
	made := must[rl.Checkpoint](t)(s.Checkpoint(ctx, refs[1]))
	chunk := model(t, s, refs[1])
	episode := rl.EpisodeID{Run: run, Update: 1, Task: "train-1"}
	moved := episode
	moved.Member = 9
	world := rl.CanonicalJSON(rl.World{Schema: rl.WorldSchema, Env: "mcp", SHA256: store.SHA256(nil)})
	must[rl.Ref](t)(s.Put(ctx, store.WorldKey(run), world))
	cases := []struct {
		key  string
		with string // written over it; "" deletes it
		want string // part of a fault's key and why
	}{
		{chunk, "x", chunk + ": its sha256 is"},
		{chunk, "x", "model.safetensors of jobs/" + job + "/result.json, runs/a/ckpt/00000001.json needs it"},
		{chunk, "", chunk + ": "},
		{refs[1].Key, "x", "runs/a/ckpt/00000001.json: it is not the JSON"},
		{refs[1].Key, string(rl.CanonicalJSON(changed(made))), "runs/a/ckpt/00000001.json: its sha256 is"},
		{refs[1].Key, "", "runs/a/latest refers to it"},
		{refs[0].Key, "", "runs/a/ckpt/00000001.json refers to it"},
		{store.PointerKey(run, store.Latest), "{", "runs/a/latest: it is not the JSON"},
		{store.PointerKey(run, store.Best), `{"key":"runs/a/ckpt/00000009.json"}`, "runs/a/ckpt/00000009.json: "},
		{store.ConfigKey(run), `{"name":"b"}`, "runs/a/config.json: "},
		{store.TasksKey(run, 1), "{}", "runs/a/updates/00000001/tasks.json: "},
		{store.TrajectoryKey(episode), "x", "trajectory.json.zst: it cannot be unpacked"},
		{store.TrajectoryKey(episode), string(must[[]byte](t)(store.EncodeTrajectory(trajectory(moved, 1)))), "trajectory.json.zst: it is the trajectory of a/1/train-1/9"},
		{store.EvaluationTrajectoryKey(run, 1, "h", "greedy", "eval-1"), "x", "runs/a/evals/00000001-h/greedy/eval-1/trajectory.json.zst: "},
		{store.ScoresKey(run, 1, "train-1"), `{"schema":"longhaul/scores/1","task":"train-2"}`, "scores.json: it is the scores of task"},
		{store.RescoredKey(run, 1, "train-1", other), `{"schema":"longhaul/scores/1","task":"train-2"}`, other + ".json: it is the scores of task"},
		{store.RewardKey(run, other), `{"use":"judge"}`, "rewards/" + other + ".json: its sha256 is"},
		{store.WorldKey(run), `{"schema":"longhaul/world/1","env":"mcp","sha256":"abc"}`, `world.json: "abc" is no SHA-256`},
		{store.WorldKey(run), strings.Replace(string(world), "/1", "/2", 1), "world.json: its schema is"},
		{store.BatchKey(run, 1), "x", "runs/a/updates/00000001/batch.safetensors: "},
		{store.CurriculumKey(run, 1), `{"schema":"longhaul/curriculum/1","run":"a","update":2}`, "curriculum.json: it is the curriculum of a/2"},
		{store.LedgerKey(run, 1), `{"schema":"longhaul/ledger/1","asked":2}`, "ledger.json: it does not balance"},
		{segments(t, s, run)[0], "{}\n{", ".jsonl: its schema is"},
		{store.SummaryKey(run, 1), `{"schema":"?"}`, "summary.json: its schema is"},
		{store.EvaluationKey(run, 1, "h"), "[]", "evaluation.json: "},
		{store.JobSpecKey(job), `{"run":"a"}`, "spec.json: its sha256 is"},
		{store.JobResultKey(job), `{"spec":"?"}`, "result.json: it is for spec ?"},
	}
	for _, c := range cases {
		before := must[[]byte](t)(s.Get(ctx, c.key))
		if c.with == "" {
			is(t, s.Delete(ctx, c.key), "")
		} else {
			must[rl.Ref](t)(s.Put(ctx, c.key, []byte(c.with)))
		}
		report := must[store.Report](t)(s.Verify(ctx, run))
		var faults strings.Builder
		for _, f := range report.Faults {
			fmt.Fprintf(&faults, "%s: %s\n", f.Key, f.Why)
		}
		if !strings.Contains(faults.String(), c.want) {
			t.Errorf("%s damaged with %.20q:\n%swant %q", c.key, c.with, &faults, c.want)
		}
		must[rl.Ref](t)(s.Put(ctx, c.key, before))
	}
	if report := must[store.Report](t)(s.Verify(ctx, run)); len(report.Faults) > 0 {
		t.Errorf("mended: %v", report.Faults)
	}
	// What another run's damage is, is no fault of this one; a job that is nobody's is told to all.
	is(t, s.Delete(ctx, store.BatchKey("other", 1)), "")
	if report := must[store.Report](t)(s.Verify(ctx, run)); len(report.Faults) > 0 {
		t.Errorf("another run is damaged: %v", report.Faults)
	}
}

func changed(c rl.Checkpoint) rl.Checkpoint {
	c.Metrics = map[string]float64{"loss": -1}
	return c
}
