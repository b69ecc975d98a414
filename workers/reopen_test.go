package workers_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// cut the line to the brittle desk: training episodes fail at their first call. (The warm-up plays, too.)
var cut atomic.Bool

func init() {
	world, err := envs.Get("orders")
	if err != nil {
		panic(err)
	}
	desk := world.New
	world.Name, world.New = "brittle", func() envs.Env { return &brittle{Env: desk()} }
	envs.Register(world)
}

type brittle struct {
	envs.Env
	training bool
}

func (b *brittle) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	b.training = task.Split == rl.Train
	return b.Env.Reset(ctx, task)
}

func (b *brittle) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	if cut.Load() && b.training {
		return envs.Result{}, rl.Errorf(rl.Refused, "environment brittle", "the line is cut")
	}
	return b.Env.Step(ctx, call)
}

// A run whose every task failed for good, and which has no others, is paused and says so. Once the environment is mended and the
// run resumed, what had failed is played again, at the turn at which it failed, and the run ends like one that was left alone.
func TestResumedRunPlaysAgainWhatFailed(t *testing.T) {
	cfg := small(t)
	cfg.Env.Use, cfg.Updates, cfg.Eval.Every = "brittle", 2, 0
	cfg.Env.Tasks.Train.Last = cfg.Env.Tasks.Train.First + cfg.Group.PerUpdate - 1
	want := open(t, t.TempDir(), 2).run(t, cfg)

	l := open(t, t.TempDir(), 2)
	cut.Store(true)
	defer cut.Store(false)
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if waits := l.awaitPause(t, cfg.Name); !strings.Contains(waits.Why, "0 of 8 groups reached the quorum") {
		t.Fatalf("%+v", waits)
	}
	l.steer(t, cfg.Name, workflows.Resume, "too early")
	l.awaitPause(t, cfg.Name)
	cut.Store(false)
	l.steer(t, cfg.Name, workflows.Resume, "mended")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out workflows.TrainOut
	if err := run.Get(ctx, &out); err != nil || out.Checkpoint.SHA256 != want.Checkpoint.SHA256 {
		t.Fatalf("%+v %v, want %+v", out, err, want)
	}
	for _, ledger := range l.ledgers(t, cfg) {
		if ledger.LeftOut[rl.EnvFailed] > 0 || !ledger.Balanced {
			t.Errorf("%+v", ledger.LeftOut)
		}
	}
	aside := 0
	for o, err := range l.store.List(t.Context(), store.UpdatePrefix(cfg.Name, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(o.Key, "/aside/") {
			aside++
		}
	}
	if aside == 0 {
		t.Error("nothing says what had failed")
	}
}
