package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/gateway"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// openAgent stores a run of one episode of an agent that asks four times.
func openAgent(t *testing.T) *bench {
	t.Helper()
	program, err := filepath.Abs("testdata/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tasks.jsonl")
	if err := os.WriteFile(file, []byte("{\"goal\": \"go\"}\n{\"goal\": \"no\", \"split\": \"eval\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t)
	b.in.Groups = 1
	b.in.Tasks = put(t, b, store.TasksKey(run, 2), []rl.Task{{ID: "train-0", Env: gateway.Kind, Split: rl.Train}})
	b.change(t, func(c *rl.Config) {
		c.Env.Use, c.Env.MaxTurns = gateway.Kind, 8
		c.Env.Agent = rl.AgentConfig{Command: "python3 '" + program + "'", Goal: "environment", Tasks: file, Output: 4096}
	})
	b.answer = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		fmt.Fprintf(w, `{"model":"faults@000000","prompt_token_ids":[1],"choices":[{"message":{"content":"answer %d"},"token_ids":[2],"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`, b.asked("go"))
		return true
	}
	return b
}

// An agent's episode that is interrupted is played by another run of the agent, which is given the answers on record and goes
// on live: no answer is sampled twice, and the record is that of an undisturbed episode.
func TestAgentsAreResumed(t *testing.T) {
	whole := openAgent(t)
	whole.played(t, 1, nil)
	want, err := whole.store.Get(t.Context(), whole.trajectoryKey("train-0"))
	if err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop <= 4; stop++ {
		b := openAgent(t)
		dying, cancel := context.WithCancel(t.Context())
		plain := b.answer
		b.answer = func(w http.ResponseWriter, r *http.Request, task string) bool {
			if b.asked("go") == stop {
				cancel()
				<-r.Context().Done()
				b.mu.Lock()
				defer b.mu.Unlock()
				b.counts["go"]-- // it is not answered
				return true
			}
			return plain(w, r, task)
		}
		if _, err := b.runTrajectories(dying, b.in, now()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for b.asked("go") != stop-1 { // the server hears later than the client that this is gone
			time.Sleep(time.Millisecond)
		}
		b.answers(plain)
		if stop%2 == 0 {
			b.restart() // another process
		}
		b.played(t, 1, nil)
		if n := b.asked("go"); n != 4 {
			t.Errorf("stopped at answer %d: %d answers", stop, n)
		}
		if got, err := b.store.Get(t.Context(), b.trajectoryKey("train-0")); err != nil || string(got) != string(want) {
			t.Errorf("stopped at answer %d: another trajectory (%v)", stop, err)
		}
	}
	if n := child.Left(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// A policy that is away is no reward, and no failure of the agent either: the episode waits for it.
func TestAgentsWaitForThePolicy(t *testing.T) {
	b := openAgent(t)
	plain := b.answer
	b.answer = func(w http.ResponseWriter, r *http.Request, task string) bool {
		if b.asked("go") > 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"error": "away"}`)
			return true
		}
		return plain(w, r, task)
	}
	_, err := b.runTrajectories(t.Context(), b.in, now())
	if rl.KindOf(err) != rl.Unavailable {
		t.Errorf("%v", err)
	}
	_, episodes, err := b.recall(t.Context(), b.store, b.in.Stage, []rl.Task{{ID: "train-0"}})
	if err != nil || len(episodes[rl.Member{Task: "train-0"}].Turns) != 2 {
		t.Errorf("%v, %v", episodes, err)
	}
}

// A replay runs the agent again: with the recorded turns alone it ends with them, and from a turn on it is live.
func TestAgentsAreReplayed(t *testing.T) {
	b := openAgent(t)
	put(t, b, store.TasksKey(run, 1), []rl.Task{{ID: "train-0", Env: gateway.Kind, Split: rl.Train}})
	b.played(t, 1, nil)
	of := rl.EpisodeID{Run: run, Update: 1, Task: "train-0"}
	for i, c := range []struct {
		spec  rl.ReplaySpec
		turns int
		stop  rl.StopReason
		asked int
	}{
		{rl.ReplaySpec{Recorded: 4, Exact: true}, 4, rl.Answered, 4},
		{rl.ReplaySpec{Recorded: 2, Exact: true}, 2, rl.EndOfRecord, 4},
		{rl.ReplaySpec{Recorded: 1, Version: rl.VersionOf(run, 0)}, 4, rl.Answered, 7},
	} {
		c.spec.Of, c.spec.Number = of, i+1
		got, err := b.replayEpisode(t.Context(), ReplayIn{Stage: b.in.Stage, Replay: c.spec}, time.Now())
		if err != nil || got.Turns != c.turns || got.Stop != c.stop || b.asked("go") != c.asked {
			j, _ := json.Marshal(got)
			t.Errorf("%d: %s, %v, asked %d times", i, j, err, b.asked("go"))
		}
	}
}
