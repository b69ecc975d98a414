package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// A server that is killed between two turns takes its state along: the episode goes on with another server, which is played the calls so
// far, and its record is that of an episode in which nothing happened.
func TestAnEpisodeOutlivesItsServer(t *testing.T) {
	w := opened(t, rl.MCPConfig{Command: command("")})
	turn := func(before int) {} // hears how many turns there are before each action
	model := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []struct{ Role string } }
		json.NewDecoder(r.Body).Decode(&q)
		n := 0
		for _, m := range q.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		turn(n)
		message := map[string]any{"role": "assistant", "content": "that is all"}
		if n < 3 {
			message = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "note", "arguments": fmt.Sprintf(`{"text":"%d"}`, n)}}}}
		}
		json.NewEncoder(rw).Encode(map[string]any{"model": "m", "choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
	}))
	defer model.Close()
	var recorded []rl.Recorded
	play := func(e *env) (*rl.Trajectory, error) {
		defer e.Close()
		return rollout.Run(t.Context(), e, policy.New(policy.Options{URL: model.URL + "/v1"}), rollout.Options{
			Task: w.Task(rl.Train, 0), Model: "m", Version: "m", MaxTurns: 10, TurnTimeout: 20 * time.Second, Recorded: recorded,
			Record: func(_ context.Context, r rl.Recorded) error { recorded = append(recorded, r); return nil },
		})
	}
	whole, err := play(w.New().(*env))
	if err != nil || len(whole.Turns) != 4 || whole.Turns[3].Observation.Messages[0].Content != "3 notes" {
		t.Fatalf("%+v, %v", whole, err)
	}
	recorded = nil
	e := w.New().(*env)
	turn = func(before int) {
		if before == 2 {
			e.server.process.Stop(0)
		}
	}
	if _, err := play(e); rl.KindOf(err) != rl.Unavailable || len(recorded) != 3 {
		t.Fatalf("%d turns, %v", len(recorded), err)
	}
	turn = func(before int) {
		if before < 3 {
			t.Errorf("turn %d is sampled again", before)
		}
	}
	resumed, err := play(w.New().(*env))
	if err != nil || string(rl.CanonicalJSON(resumed)) != string(rl.CanonicalJSON(whole)) {
		t.Errorf("%s\nis not\n%s, %v", rl.CanonicalJSON(resumed), rl.CanonicalJSON(whole), err)
	}
	none(t)
}
