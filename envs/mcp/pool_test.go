package mcp

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
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
	serversOf(w).Close()
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
	var began atomic.Int32 // of some that are to start at the same time
	var all sync.WaitGroup
	over, end := context.WithCancel(t.Context())
	defer end()
	for range 4 {
		all.Go(func() {
			e := w.New()
			if _, err := e.Reset(over, w.Task(rl.Train, 0)); err == nil {
				began.Add(1)
				time.AfterFunc(time.Second, end) // by then others would have begun, too
				<-over.Done()
			}
			e.Close()
		})
	}
	all.Wait()
	if n := began.Load(); n != 1 {
		t.Errorf("%d servers at once", n)
	}
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
	serversOf(w).Close()
	none(t)
	w = opened(t, rl.MCPConfig{Command: command("{dir}"), Share: "worker", Effect: "pure", Files: t.TempDir()})
	serversOf(w).Close()
	for range 3 { // its directory cannot be made any more
		if _, err := w.New().Reset(t.Context(), w.Task(rl.Train, 0)); rl.KindOf(err) != rl.Unavailable {
			t.Error(err)
		}
	}
	none(t)
}

// A server whose process ended while no episode had it is nobody's.
func TestAServerThatEndedIsNotHandedOut(t *testing.T) {
	for _, c := range []rl.MCPConfig{{Reuse: 100}, {Share: "worker", Effect: "pure"}} {
		c.Command = command("")
		w := opened(t, c)
		for range 2 {
			e := begun(t, w).(*env)
			if got := step(t, e, "note", `{}`); got != "1 notes" {
				t.Error(got)
			}
			s := e.server
			e.Close()
			s.process.Kill()
			<-s.process.Done()
		}
		serversOf(w).Close()
		none(t)
	}
}

// A server that ended by itself is no ground to score an episode on, whatever the answer was.
func TestAServerThatEndsBeforeTheScore(t *testing.T) {
	e := begun(t, opened(t, rl.MCPConfig{Command: command("")}, Task{Goal: "say 7", Checks: []Check{{Answer: true, Is: "7"}}})).(*env)
	step(t, e, "note", `{}`)
	step(t, e, envs.FinalText, `"7"`)
	if s, err := e.Score(t.Context()); err != nil || s.Value != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	e.server.process.Kill()
	<-e.server.process.Done()
	if _, err := e.Score(t.Context()); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "the server has ended: signal: killed") {
		t.Error(err)
	}
	e.Close()
}

// A server that does not read what it is sent holds nobody up, and is not the next episode's.
func TestADeafServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("deaf"), Reuse: 100})
	e := begun(t, w).(*env)
	deaf := e.server
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := e.Step(ctx, call("note", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "note gave no result in time") {
		t.Error(err)
	}
	e.Close()
	if next := begun(t, w).(*env); next.server == deaf {
		t.Error("the next episode has it")
	}
}

// Servers that list their tools in another order each time are the same server.
func TestTheOrderOfToolsIsNobodys(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("shuffled")})
	for range 8 {
		e := begun(t, w)
		if tools := e.Spec().Tools; tools[0].Name != "act" || tools[1].Name != "echo" || tools[2].Name != "note" {
			t.Errorf("%+v", tools)
		}
		e.Close()
	}
	if other := opened(t, rl.MCPConfig{Command: command("shuffled")}); other.Digest != w.Digest {
		t.Error("another digest")
	}
}
