package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// plays is a policy whose turn t calls the world's tool with the t-th arguments, and the last ones for ever.
func plays(tool string, arguments ...string) *policy.Client {
	serve := func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Messages []struct{ Role rl.Role }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		turn := 0
		for _, m := range q.Messages {
			if m.Role == rl.Assistant {
				turn++
			}
		}
		call := map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": tool, "arguments": arguments[min(turn, len(arguments)-1)]}}
		json.NewEncoder(w).Encode(map[string]any{"model": q.Model, "prompt_token_ids": []int{turn}, "choices": []any{map[string]any{
			"message": map[string]any{"role": "assistant", "tool_calls": []any{call}}, "finish_reason": "tool_calls", "token_ids": []int{1},
			"logprobs": map[string]any{"content": []any{map[string]any{"logprob": -.5}}},
		}}})
	}
	return policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: http.HandlerFunc(serve)}})
}

// attempt plays an episode whose first turns are recorded, and returns what is recorded then. Committed is told of every
// further turn.
func attempt(w envs.World, p *policy.Client, turns int, recorded []rl.Recorded, committed ...func(turns int)) (*rl.Trajectory, []rl.Recorded, error) {
	env := envs.Guard(w.New(), w.Name)
	defer env.Close()
	task := w.Task(rl.Train, 0)
	t, err := rollout.Run(context.Background(), env, p, rollout.Options{
		Episode: rl.EpisodeID{Run: "r", Update: 1, Task: task.ID}, Task: task, Model: "r@000000", Version: "r@000000", MaxTokens: 64, MaxTurns: turns, Seed: 7,
		Recorded: recorded, Record: func(_ context.Context, r rl.Recorded) error {
			recorded = append(recorded, r)
			for _, f := range committed {
				f(len(recorded))
			}
			return nil
		},
	})
	return t, recorded, err
}

// An episode whose socket dies goes on in a session of its own, its world brought to where it was, and ends as one that
// was never interrupted. Where the world does not come back the same, it is void.
func TestEpisodesSurviveTheirSessions(t *testing.T) {
	w := serve(t, &counter{}, nil)
	whole, _, err := attempt(w, plays("count", `{"add":2}`, `{"add":3}`, `{"add":5}`), 4, nil)
	if err != nil || whole.Outcome.Value != 15 {
		t.Fatalf("%+v, %v", whole, err)
	}
	for _, lively := range []bool{false, true} {
		c := &counter{lively: lively}
		w := serve(t, c, nil)
		_, recorded, err := attempt(w, plays("count", `{"add":2}`, `{"add":3}`, `{"add":5,"do":"die"}`), 4, nil)
		if rl.KindOf(err) != rl.Unavailable || !errors.Is(err, errLost) || len(recorded) != 3 {
			t.Fatalf("%d turns, %v", len(recorded), err)
		}
		recorded[2].Action.Message.ToolCalls[0].Arguments = json.RawMessage(`{"add":5}`) // the socket holds this time
		again, _, err := attempt(w, plays("count", `{"add":5}`), 4, recorded)
		switch {
		case lively && !errors.Is(err, rollout.ErrDiverged):
			t.Errorf("a world that is another one: %v", err)
		case !lively && (err != nil || string(rl.CanonicalJSON(again)) != string(rl.CanonicalJSON(whole))):
			t.Errorf("%s\n%s, %v", rl.CanonicalJSON(again), rl.CanonicalJSON(whole), err)
		}
	}
}
