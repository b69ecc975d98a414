package workers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// steer gives a command and waits until it has taken effect.
func (l *line) steer(t *testing.T, run rl.RunID, name, why string) workflows.Standing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	at, err := workers.Steer(ctx, l.client, run, name, workflows.Command{By: "tester", Why: why})
	if rl.KindOf(err) == rl.NotFound { // it has ended
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
	for i := 0; ; i++ {
		time.Sleep(time.Duration(150+i*97%400) * time.Millisecond)
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
		if i > 100 {
			t.Fatal("the run makes no progress")
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
	if _, err := workers.Steer(t.Context(), l.client, "nobody", workflows.Pause, workflows.Command{By: "tester"}); rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workers.Steer(t.Context(), l.client, cfg.Name, workflows.Pause, workflows.Command{}); rl.KindOf(err) != rl.Invalid {
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
	if _, err := workers.Steer(t.Context(), l.client, cfg.Name, workflows.Resume, workflows.Command{By: "tester"}); rl.KindOf(err) != rl.NotFound {
		t.Fatal(err)
	}
	if got := l.run(t, cfg); got != want {
		t.Fatalf("ended with %+v, want %+v", got, want)
	}
}
