package workers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A run's histories can be replayed as they were recorded. With LONGHAUL_RECORD they are kept in that directory, as
// the histories of the current logic version.
func TestRecordHistories(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := small(t)
	l.run(t, cfg)
	dir := os.Getenv("LONGHAUL_RECORD")
	if dir == "" {
		dir = t.TempDir()
	}
	cfg.Name, cfg.Updates, cfg.Eval.Every = "scheduled", 0, 0
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: &cfg}, workers.Timing{Every: seldom}); err != nil {
		t.Fatal(err)
	}
	if err := workers.TriggerSchedule(t.Context(), l.client, "s"); err != nil {
		t.Fatal(err)
	}
	started := l.until(t, "s", "its run has ended", func(s workers.ScheduleState) bool { return len(s.Past) == 1 && s.Past[0].State == "completed" })
	cfg = small(t)
	cfg.Name = "paused"
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.await(t, store.ScoresKey(cfg.Name, 1, l.task(t, cfg.Name, 1)))
	for _, command := range []string{workflows.Pause, workflows.Resume} {
		l.steer(t, cfg.Name, command, "for the record")
	}
	if err := run.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	again := rl.ReplaySpec{Of: rl.EpisodeID{Run: cfg.Name, Update: 1, Task: l.task(t, cfg.Name, 1)}, Number: 1, Version: rl.VersionOf(cfg.Name, 0)}
	ref, _, err := store.FindJSON[rl.Config](t.Context(), l.store, store.ConfigKey(cfg.Name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Replay(t.Context(), l.client, l.store, l.uri, cfg, ref, []rl.ReplaySpec{again}); err != nil {
		t.Fatal(err)
	}
	l.changed(t)
	l.cancelled(t)
	cfg = small(t)
	for name, id := range map[string]string{
		"cancelled": workflows.TrainID("cancelled"),
		"changed":   workflows.TrainID("changed"),
		"scheduled": started.Past[0].Workflow,
		"paused":    workflows.TrainID("paused"),
		"replay":    workflows.ReplayID(again, 1),
		"train":     workflows.TrainID(cfg.Name),
		"collect":   workflows.CollectID(cfg.Name, 1, 0, 0, 1),
		"evaluate":  workflows.EvaluateID(rl.VersionOf(cfg.Name, 0), workflows.EvaluationKey(cfg)),
	} {
		var h historypb.History
		for events := l.client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			e, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			h.Events = append(h.Events, e)
		}
		b, err := protojson.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-v%d.json", name, workflows.LogicVersion)), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if len(h.Events) < 10 && name != "replay" {
			t.Errorf("%s has %d events", id, len(h.Events))
		}
	}
}

// cancelled runs a run that is paused while a job of its own makes its update, which goes on, and then cancelled with it.
func (l *line) cancelled(t *testing.T) {
	t.Helper()
	cfg := small(t)
	cfg.Name, cfg.Updates, cfg.Eval.Every = "cancelled", 1, 0
	endless := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(endless, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Update.Use, cfg.Update.Timeout, cfg.Update.Local.Python = "local", rl.Duration(time.Hour), endless
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.await(t, store.JobRecordKey(cfg.Name, 1))
	for _, command := range []string{workflows.Pause, workflows.Cancel} {
		l.steer(t, cfg.Name, command, "for the record")
	}
	var out workflows.TrainOut
	if err := run.Get(t.Context(), &out); err != nil || out.State != workflows.Cancelled {
		t.Fatalf("%+v, %v", out, err)
	}
}

// changed runs a run that pauses since all has failed, is changed, and plays again what failed.
func (l *line) changed(t *testing.T) {
	t.Helper()
	cfg := small(t)
	cfg.Name, cfg.Env.Use, cfg.Updates, cfg.Eval.Every = "changed", "brittle", 1, 0
	cfg.Env.Tasks.Train.Last = cfg.Env.Tasks.Train.First + cfg.Group.PerUpdate - 1
	cut.Store(true)
	defer cut.Store(false)
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.awaitPause(t, cfg.Name)
	cut.Store(false)
	from, now, err := l.store.Config(t.Context(), cfg.Name)
	if err != nil {
		t.Fatal(err)
	}
	now.Update.LearningRate /= 2
	if _, err := workers.Set(t.Context(), l.client, l.store, now, from, workflows.Command{By: "tester", Why: "for the record"}, "update.learning_rate: halved"); err != nil {
		t.Fatal(err)
	}
	l.steer(t, cfg.Name, workflows.Resume, "for the record")
	if err := run.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// task is the first task of an update, once it is sampled.
func (l *line) task(t *testing.T, run rl.RunID, n rl.UpdateNumber) rl.TaskID {
	t.Helper()
	l.await(t, store.TasksKey(run, n))
	tasks, err := l.store.Tasks(t.Context(), run, n)
	if err != nil {
		t.Fatal(err)
	}
	return tasks[0].ID
}
