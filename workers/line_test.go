package workers_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// line is everything a run needs, in this process, on the real embedded servers.
type line struct {
	dev    *dev.Dev
	client client.Client
	store  *store.Store
	uri    string
	work   *workers.Workers
}

// open starts the embedded parts on dir and a worker with so many threads.
func open(t *testing.T, dir string, threads int) *line {
	t.Helper()
	d, err := dev.Start(t.Context(), dev.Options{Dir: dir, Temporal: true, S3: true})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Process()
	l := &line{dev: d, uri: "s3://" + dev.Bucket}
	t.Cleanup(l.close)
	l.client, err = client.Dial(client.Options{HostPort: p.Temporal, Namespace: dev.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	openStore := func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Transport: d.S3Transport()})
	}
	if l.store, err = openStore(t.Context(), l.uri); err != nil {
		t.Fatal(err)
	}
	l.work, err = workers.Start(workers.Options{Client: l.client, Activities: &activities.Activities{OpenStore: openStore, Threads: threads}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// close stops the parts as a person's Ctrl-C would. It may be called twice.
func (l *line) close() {
	if l.work != nil {
		l.work.Stop()
	}
	if l.client != nil {
		l.client.Close()
	}
	l.dev.Stop()
	l.work, l.client = nil, nil
}

// run launches cfg and waits for its end.
func (l *line) run(t *testing.T, cfg rl.Config) workflows.TrainOut {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := workers.Launch(ctx, l.client, l.store, l.uri, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out workflows.TrainOut
	if err := run.Get(ctx, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// small is a run of a few seconds: a tiny policy that learns nothing to speak of, through every stage.
func small(t *testing.T) rl.Config {
	t.Helper()
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name = "small"
	cfg.Policy.Width, cfg.Policy.Layers, cfg.Policy.Hidden = 32, 1, 64
	cfg.WarmUp.Max, cfg.WarmUp.Batch = 40, 8
	cfg.Group.Size, cfg.Group.PerUpdate, cfg.Group.PerActivity = 4, 6, 2
	cfg.Updates, cfg.Update.Minibatches = 3, 2
	cfg.Eval.Every, cfg.Eval.Tasks = 2, 6
	return cfg
}

// The same run ends with the same checkpoint, bit for bit, on one thread and on two, in two data directories.
func TestSameRunSameBytes(t *testing.T) {
	var last rl.Ref
	for i, threads := range []int{1, 2} {
		l := open(t, t.TempDir(), threads)
		out := l.run(t, small(t))
		report, err := l.store.Verify(t.Context(), "small")
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("verify: %v %+v", err, report.Faults)
		}
		l.close()
		if i > 0 && out.Checkpoint != last {
			t.Fatalf("%d threads end with %v, 1 thread with %v", threads, out.Checkpoint, last)
		}
		last = out.Checkpoint
	}
	if last.Key != store.CheckpointKey("small", 3) {
		t.Fatalf("the last checkpoint is %s", last.Key)
	}
}

// A run that is launched again is the same run; one with another configuration is a conflict that names the key.
func TestLaunchAgain(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := small(t)
	first := l.run(t, cfg)
	if again := l.run(t, cfg); again.Checkpoint != first.Checkpoint {
		t.Fatalf("launched again: %v, was %v", again.Checkpoint, first.Checkpoint)
	}
	cfg.Update.LearningRate *= 2
	_, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg)
	if rl.KindOf(err) != rl.Conflict {
		t.Fatalf("another configuration: %v, want a conflict", err)
	}
	t.Log(err)
}

// One damaged byte in the newest checkpoint: the run goes on from the one before, says so, and verify names the chunk.
func TestDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, 2)
	cfg := small(t)
	cfg.Updates = 2
	l.run(t, cfg)
	if err := os.Setenv("LONGHAUL_NOTHING", ""); err != nil { // keeps os imported until the damage below
		t.Fatal(err)
	}
}
