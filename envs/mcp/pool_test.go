package mcp

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// With a limit on servers, episodes wait for each other; a reused server is the next episode's.
func TestThePool(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command(""), Servers: 4, Reuse: 3})
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			e := begun(t, w)
			defer e.Close()
			if n := child.Left(); n > 4 {
				t.Errorf("%d servers at once", n)
			}
			got := step(t, e, "note", `{"text":"a"}`)
			mu.Lock()
			defer mu.Unlock()
			seen[got]++
		})
	}
	all.Wait()
	if seen["1 notes"] < 4 || seen["4 notes"] > 0 || seen["2 notes"] == 0 {
		t.Errorf("%v", seen) // this server keeps its state: it is not one to be used again
	}
	for _, s := range slices.Clone(begun(t, w).(*env).world.pool.live) {
		s.close()
	}
	none(t)
}

func TestTheMemoryLimit(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command(""), Servers: 4, Memory: "1M"})
	first := begun(t, w) // always fits
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	second := w.New()
	if _, err := second.Reset(ctx, w.Task(rl.Train, 0)); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("a second server: %v", err)
	}
	first.Close()
	if _, err := second.Reset(t.Context(), w.Task(rl.Train, 0)); err != nil {
		t.Error(err)
	}
	second.Close()
	none(t)
}

// With share: worker all episodes have one server; when it is lost, the next ones have a new one.
func TestASharedServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command(""), Share: "worker", Effect: "pure"})
	a, b := begun(t, w), begun(t, w)
	if x, y := step(t, a, "note", `{}`), step(t, b, "note", `{}`); x != "1 notes" || y != "2 notes" {
		t.Error(x, y)
	}
	if _, err := a.Step(t.Context(), call("act", `{"what":"die"}`)); rl.KindOf(err) != rl.Unavailable {
		t.Error(err)
	}
	if _, err := b.Step(t.Context(), call("note", `{}`)); rl.KindOf(err) != rl.Unavailable {
		t.Error(err)
	}
	c := begun(t, w)
	if got := step(t, c, "note", `{}`); got != "1 notes" {
		t.Error(got)
	}
	for _, e := range []envs.Env{a, b, c} {
		e.Close()
	}
	if n := child.Left(); n != 1 {
		t.Errorf("%d servers for the next episodes", n)
	}
	c.(*env).world.pool.live[0].close()
	none(t)
}
