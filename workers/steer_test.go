package workers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// steer gives a command and waits until it has taken effect.
func (l *line) steer(t *testing.T, run rl.RunID, name, why string) workflows.Standing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	began := time.Now()
	at, err := workers.Steer(ctx, l.client, run, name, workflows.Command{By: "tester", Why: why}, nil)
	if rl.KindOf(err) == rl.NotFound { // it has ended, and well
		d, err := l.client.DescribeWorkflowExecution(ctx, workflows.TrainID(run), "")
		if err != nil || d.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			t.Fatalf("%s: the run ended as %v (%v)", name, d.GetWorkflowExecutionInfo().GetStatus(), err)
		}
		return workflows.Standing{State: workflows.Done}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s %s, after %v", name, at.State, at.At, time.Since(began).Round(time.Millisecond))
	return at
}

// A run that is paused wherever it is, twice, and whose parts are stopped or not meanwhile, goes on when it is resumed
// and ends with the checkpoint of one that never was.
func TestPausedRunEndsTheSame(t *testing.T) {
	cfg := small(t)
	want := open(t, t.TempDir(), 2).run(t, cfg)

	dir := t.TempDir()
	l := open(t, dir, 2)
	if _, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg); err != nil {
		t.Fatal(err)
	}
	points := map[string]bool{}
	for i, key := range []string{
		store.ConfigKey(cfg.Name), store.CheckpointKey(cfg.Name, 0), store.TasksKey(cfg.Name, 1), store.ScoresKey(cfg.Name, 1, l.task(t, cfg.Name, 1)),
		store.BatchKey(cfg.Name, 1), store.CheckpointKey(cfg.Name, 1), store.TasksKey(cfg.Name, 2), store.LedgerKey(cfg.Name, 2), store.SummaryKey(cfg.Name, 2),
		store.EvaluationTasksKey(cfg.Name, 2, workflows.EvaluationKey(cfg)), store.TasksKey(cfg.Name, 3), store.CheckpointKey(cfg.Name, 3),
	} {
		l.await(t, key)
		at := l.steer(t, cfg.Name, workflows.Pause, "lunch")
		if at.State == workflows.Done {
			break
		}
		if again := l.steer(t, cfg.Name, workflows.Pause, "again"); again != at || at.State != workflows.Paused {
			t.Fatalf("paused %+v, and again %+v", at, again)
		}
		points[strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, at.At)] = true
		if i%3 == 1 {
			l.close()
			l = start(t, dir)
			l.dev.FailOrphans(t.Context(), l.client, workflows.TrainID(cfg.Name))
			l.workOn(t, 2)
		}
		if at := l.steer(t, cfg.Name, workflows.Resume, ""); at.State != workflows.Running && at.State != workflows.Done {
			t.Fatalf("resumed: %+v", at)
		}
	}
	if got := l.run(t, cfg); got != want {
		t.Fatalf("ended with %+v, want %+v", got, want)
	}
	if len(points) < 3 {
		t.Errorf("paused only at %v", points)
	}
	_, u, err := store.FindJSON[rl.UpdateSummary](t.Context(), l.store, store.SummaryKey(cfg.Name, 3))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(points, u.Events)
}

// A cancelled run has ended, refuses further commands, and goes on when it is started again.
func TestCancelledRunGoesOn(t *testing.T) {
	cfg := small(t)
	want := open(t, t.TempDir(), 2).run(t, cfg)
	l := open(t, t.TempDir(), 2)
	if _, err := workers.Steer(t.Context(), l.client, "nobody", workflows.Pause, workflows.Command{By: "tester"}, nil); rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Steer(t.Context(), l.client, cfg.Name, workflows.Pause, workflows.Command{}, nil); rl.KindOf(err) != rl.Invalid {
		t.Fatal(err)
	}
	l.await(t, store.TasksKey(cfg.Name, 1))
	if at := l.steer(t, cfg.Name, workflows.Cancel, "enough"); at.State != workflows.Cancelled {
		t.Fatalf("%+v", at)
	}
	var out workflows.TrainOut
	if err := run.Get(t.Context(), &out); err != nil || out.State != workflows.Cancelled {
		t.Fatalf("%+v %v", out, err)
	}
	if _, err := workers.Steer(t.Context(), l.client, cfg.Name, workflows.Resume, workflows.Command{By: "tester"}, nil); rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	if got := l.run(t, cfg); got != want {
		t.Fatalf("ended with %+v, want %+v", got, want)
	}
}

// A run is resumed before its pause has landed, again and again, and its parts are killed between the two: it never ends
// but well.
func TestResumedBeforePaused(t *testing.T) {
	cfg := small(t)
	want := open(t, t.TempDir(), 2).run(t, cfg)
	dir := t.TempDir()
	l := open(t, dir, 2)
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // accepted, and not waited for
		defer cancel()
		_, err := workers.Steer(ctx, l.client, cfg.Name, name, workflows.Command{By: "tester"}, nil)
		return err
	}
	for i := range 12 {
		time.Sleep(time.Duration(100+i*83%300) * time.Millisecond)
		if rl.KindOf(ask(workflows.Pause)) == rl.NotFound {
			break
		}
		if i%4 == 3 {
			l.close()
			l = start(t, dir)
			l.dev.FailOrphans(t.Context(), l.client, workflows.TrainID(cfg.Name))
			l.workOn(t, 2)
		}
		ask(workflows.Resume)
	}
	l.steer(t, cfg.Name, workflows.Resume, "")
	var out workflows.TrainOut
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := l.client.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, &out); err != nil || out != want {
		t.Fatalf("%+v %v, want %+v", out, err, want)
	}
}
