package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// benchDurable plays 128 and 1,024 episodes side by side through Collect on the embedded servers: every turn committed to
// the journal with fsync before it is acted on, every trajectory stored, every group scored. Beside it, a bare Go loop
// that keeps nothing.
func benchDurable(ctx context.Context, a *app) (b benchmark, err error) {
	b = benchmark{Name: "durable", Ratios: map[string]float64{}, Figures: map[string]float64{}}
	url, stop, err := fixedPolicy()
	if err != nil {
		return b, err
	}
	defer stop()
	dir, err := os.MkdirTemp("", "longhaul-bench")
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(dir)
	var seen meter
	inside := &app{data: dir, out: a.out, log: a.log, patience: a.patience, s3: seen.through, getenv: func(name string) string {
		if strings.HasPrefix(name, "TEMPORAL_") || name == "LONGHAUL_STORE" {
			return "" // always the embedded servers
		}
		return a.getenv(name)
	}}
	h, err := inside.host(ctx, want{Make: true}, false)
	if err != nil {
		return b, err
	}
	defer h.Close()
	return b, besideBareLoop(ctx, url, &b, func(episodes int) (time.Duration, error) {
		seen.reset()
		memory := peakMemory()
		wall, err := lineLoop(ctx, h, url, episodes)
		grown := memory()
		turns := float64(episodes * benchTurns)
		if episodes > benchGroup {
			b.Figures[fmt.Sprintf("memory_kb_an_episode_%d_episodes", episodes)] = float64(grown) / 1024 / float64(episodes)
			b.Figures[fmt.Sprintf("journal_bytes_a_turn_%d_episodes", episodes)] = float64(seen.journal.Load()) / turns
			b.Figures[fmt.Sprintf("store_requests_a_turn_%d_episodes", episodes)] = float64(seen.requests.Load()) / turns
		}
		return wall, err
	})
}

// meter counts what goes to the store.
type meter struct{ requests, journal atomic.Int64 }

func (m *meter) reset() { m.requests.Store(0); m.journal.Store(0) }

func (m *meter) through(next http.RoundTripper) http.RoundTripper { return metered{m, next} }

type metered struct {
	*meter
	next http.RoundTripper
}

func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	m.requests.Add(1)
	if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/journal/") {
		m.journal.Add(r.ContentLength)
	}
	return m.next.RoundTrip(r)
}

// peakMemory watches the live heap and the stacks until it is called again, and says by how many bytes they grew at most.
// Garbage that waits to be collected counts: it is memory too.
func peakMemory() func() uint64 {
	in := func() uint64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapInuse + s.StackInuse
	}
	runtime.GC()
	before, done, peak := in(), make(chan struct{}), make(chan uint64)
	go func() {
		most := before
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(50 * time.Millisecond):
				most = max(most, in())
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-peak - before
	}
}

// lineLoop collects one update of that many episodes: from the start of Collect to its end.
func lineLoop(ctx context.Context, h *host, url string, episodes int) (time.Duration, error) {
	cfg, err := config.Default("orders")
	if err != nil {
		return 0, err
	}
	cfg.Name = rl.RunID(fmt.Sprintf("bench-%d", episodes))
	cfg.Policy = rl.PolicyConfig{Use: "openai", URL: url, Model: "bench", Concurrency: episodes}
	cfg.Group.Size, cfg.Group.PerActivity, cfg.Group.PerUpdate = benchGroup, benchGroup, episodes/benchGroup
	cfg.Env.MaxTurns = benchTurns
	ref, _, err := store.PutJSON(ctx, h.Store, store.ConfigKey(cfg.Name), cfg)
	if err != nil {
		return 0, err
	}
	stage := activities.Stage{Run: cfg.Name, Store: h.URI, Config: ref, Update: 1}
	sampled, err := (&activities.Activities{OpenStore: h.OpenStore}).SampleGroup(ctx, activities.SampleGroupIn{Stage: stage})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	run, err := h.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: workflows.CollectID(cfg.Name, 1, 0, 0, 1), TaskQueue: workflows.ControlQueue}, workflows.Collect, workflows.CollectIn{
		Stage: stage, Tasks: sampled.Tasks, Version: rl.VersionOf(cfg.Name, 0), Groups: sampled.Groups,
		Size: benchGroup, PerActivity: benchGroup, EpisodeTimeout: time.Minute,
	})
	if err != nil {
		return 0, err
	}
	var out workflows.CollectOut
	if err := run.Get(ctx, &out); err != nil {
		return 0, err
	}
	if out.Turns != episodes*benchTurns || out.Scored != episodes {
		return 0, fmt.Errorf("%d turns and %d scores of %d episodes", out.Turns, out.Scored, episodes)
	}
	return time.Since(start), nil
}
