package workers_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// line is everything a run needs, in this process, on the real embedded servers.
type line struct {
	dev       *dev.Dev // nil when the servers are separate processes
	client    client.Client
	namespace string
	openStore func(context.Context, string) (*store.Store, error)
	store     *store.Store
	uri       string
	work      *workers.Workers
	stop      func() error
}

// open starts the embedded parts on dir and a worker with so many threads.
func open(t *testing.T, dir string, threads int) *line {
	t.Helper()
	l := start(t, dir)
	l.workOn(t, threads)
	return l
}

// start starts the embedded parts alone.
func start(t *testing.T, dir string) *line {
	t.Helper()
	d, err := dev.Start(t.Context(), dev.Options{Dir: dir, Temporal: true, S3: true})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Process()
	l := &line{dev: d, uri: "s3://" + dev.Bucket, namespace: dev.Namespace, stop: d.Stop}
	t.Cleanup(l.close)
	l.dial(t, p.Temporal)
	l.openStore = func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Transport: d.S3Transport()})
	}
	if l.store, err = l.openStore(t.Context(), l.uri); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *line) dial(t *testing.T, address string) {
	t.Helper()
	var err error
	l.client, err = client.Dial(client.Options{HostPort: address, Namespace: l.namespace, Identity: "longhaul", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
}

// workOn starts the workers.
func (l *line) workOn(t *testing.T, threads int) {
	t.Helper()
	if err := workers.Prepare(t.Context(), l.client, l.namespace); err != nil {
		t.Fatal(err)
	}
	var err error
	l.work, err = workers.Start(workers.Options{Client: l.client, Activities: &activities.Activities{OpenStore: l.openStore, Threads: threads, Jobs: launch.Host{Dir: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
}

// close stops the parts as a person's Ctrl-C would. It may be called twice.
func (l *line) close() {
	if l.work != nil {
		l.work.Stop()
	}
	if l.client != nil {
		l.client.Close()
	}
	l.stop()
	l.work, l.client = nil, nil
}

// run launches cfg and waits for its end.
func (l *line) run(t *testing.T, cfg rl.Config) workflows.TrainOut {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
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

// small is a run of a few seconds through every stage: a tiny policy that warms up just enough for groups to differ.
func small(t *testing.T) rl.Config {
	t.Helper()
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name = "small"
	cfg.Policy.Width, cfg.Policy.Layers, cfg.Policy.Hidden = 32, 1, 64
	cfg.WarmUp.Gate, cfg.WarmUp.Extra, cfg.WarmUp.Batch, cfg.WarmUp.LearningRate = .6, 20, 16, 5e-3
	cfg.Group.Size, cfg.Group.PerUpdate, cfg.Group.PerActivity = 8, 8, 3
	cfg.Updates, cfg.Update.Minibatches = 3, 2
	cfg.Eval.Every, cfg.Eval.Tasks = 2, 6
	return cfg
}

// The same run ends with the same checkpoint, bit for bit, on one thread and on two, in two data directories.
func TestSameRunSameBytes(t *testing.T) {
	var last rl.Ref
	weights := map[string]bool{} // of the first and the last checkpoint, by sha256
	for i, threads := range []int{1, 2} {
		l := open(t, t.TempDir(), threads)
		out := l.run(t, small(t))
		report, err := l.store.Verify(t.Context(), "small")
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("verify: %v %+v", err, report.Faults)
		}
		for _, n := range []rl.UpdateNumber{0, 3} {
			_, ckpt, err := l.store.FindCheckpoint(t.Context(), "small", n)
			if err != nil {
				t.Fatal(err)
			}
			f, _ := ckpt.File(tiny.WeightsFile)
			weights[f.SHA256] = true
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
	if len(weights) != 2 { // else equal bytes would say little
		t.Fatalf("training left the weights alone: %v", weights)
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

// One damaged byte in the newest checkpoint of a stopped run: verify names the chunk; started again, the run goes on
// from the checkpoint before, says so, and ends with the checkpoint of an undisturbed run.
func TestDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	cfg := small(t)
	cfg.Updates = 6
	l := open(t, dir, 2)
	if _, err := workers.Launch(t.Context(), l.client, l.store, l.uri, cfg); err != nil {
		t.Fatal(err)
	}
	l.await(t, store.SummaryKey(cfg.Name, 2))
	l.close()

	l = start(t, dir)
	latest, err := l.store.Pointer(t.Context(), cfg.Name, store.Latest)
	if err != nil {
		t.Fatal(err)
	}
	damaged := l.damage(t, latest)
	report, err := l.store.Verify(t.Context(), cfg.Name)
	if err != nil || len(report.Faults) == 0 || !strings.Contains(report.Faults[0].Key, damaged) {
		t.Fatalf("verify: %v, faults %+v; want chunk %s", err, report.Faults, damaged)
	}
	l.dev.FailOrphans(t.Context(), l.client, workflows.TrainID(cfg.Name))
	l.workOn(t, 2)
	out := l.run(t, cfg)
	var told []string
	for n := range rl.UpdateNumber(7) {
		_, u, err := store.FindJSON[rl.UpdateSummary](t.Context(), l.store, store.SummaryKey(cfg.Name, n))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range u.Events {
			if e.Kind != "warning" { // of what it learns
				told = append(told, e.Kind+": "+e.Text)
			}
		}
	}
	if len(told) == 0 || !strings.HasPrefix(told[0], "checkpoint_fallback: "+latest.Key) {
		t.Fatalf("events %q, want a fallback from %s", told, latest.Key)
	}
	l.close()
	if undisturbed := open(t, t.TempDir(), 2).run(t, cfg); out != undisturbed {
		t.Fatalf("ended with %+v, an undisturbed run with %+v", out, undisturbed)
	}
}

// damage changes one byte of the weights of a checkpoint and returns the sha256 that names their chunk.
func (l *line) damage(t *testing.T, manifest rl.Ref) string {
	t.Helper()
	ckpt, err := l.store.Checkpoint(t.Context(), manifest)
	if err != nil {
		t.Fatal(err)
	}
	weights, ok := ckpt.File(tiny.WeightsFile)
	if !ok {
		t.Fatalf("no %s in %+v", tiny.WeightsFile, ckpt.Files)
	}
	key := store.ChunkKey(weights.Chunks[0])
	b, err := l.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if _, err := l.store.Put(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
	return weights.Chunks[0]
}

// await waits until an object is there.
func (l *line) await(t *testing.T, key string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := l.store.Head(t.Context(), key); err == nil {
			return
		} else if rl.KindOf(err) != rl.NotFound || time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v", key, err)
		}
	}
}
