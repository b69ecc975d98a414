package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// asked is a request as the scripted server sees it.
type asked struct {
	Model    string        `json:"model"`
	Messages []wireMessage `json:"messages"`
	Seed     uint64        `json:"seed"`
	Tools    []struct {
		Function struct{ Name string } `json:"function"`
	} `json:"tools"`
}

type wireMessage struct {
	Role       rl.Role    `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// says is a message with calls, given as name, arguments, name, arguments ...
func says(content string, calls ...string) (m wireMessage) {
	m.Role, m.Content = rl.Assistant, content
	for i := 0; i < len(calls); i += 2 {
		c := wireCall{ID: "same", Type: "function"} // ids repeat in the wild
		c.Function.Name, c.Function.Arguments = calls[i], calls[i+1]
		m.ToolCalls = append(m.ToolCalls, c)
	}
	return m
}

// tokens renders a message, one token a byte.
func (m wireMessage) tokens() (out []int32) {
	text := m.Content
	for _, c := range m.ToolCalls {
		text += "<" + c.Function.Name + c.Function.Arguments + ">"
	}
	for _, b := range []byte(text) {
		out = append(out, int32(b))
	}
	return append(out, 0)
}

// scripted is a policy server that answers what play says, with token ids and log-probabilities.
func scripted(play func(asked) wireMessage) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q asked
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var prompt []int32
		for _, m := range q.Messages {
			prompt = append(append(prompt, int32(m.Role[0])+1000), m.tokens()...)
		}
		action := play(q)
		type token struct {
			LogProb float32 `json:"logprob"`
		}
		var content []token
		for i := range action.tokens() {
			content = append(content, token{-float32(i%7) / 10})
		}
		json.NewEncoder(w).Encode(map[string]any{
			"model": q.Model, "prompt_token_ids": append(prompt, 'a'+1000),
			"choices": []any{map[string]any{
				"message": action, "finish_reason": "stop", "token_ids": action.tokens(), "logprobs": map[string]any{"content": content},
			}},
		})
	})
}

func client(h http.Handler) *policy.Client {
	return policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: h}})
}

// inTurn answers the messages one after the other, and the last one for ever.
func inTurn(messages ...wireMessage) func(asked) wireMessage {
	return func(q asked) wireMessage {
		turn := 0
		for _, m := range q.Messages {
			if m.Role == rl.Assistant {
				turn++
			}
		}
		return messages[min(turn, len(messages)-1)]
	}
}

func options() Options {
	task := rl.Task{ID: "train-1", Env: "stage", Split: rl.Train, Index: 1}
	return Options{
		Episode: rl.EpisodeID{Run: "r", Update: 1, Task: task.ID}, Task: task,
		Model: "r@000000", Version: "r@000000", Temperature: 1, MaxTokens: 64, MaxTurns: 5, Seed: 7,
	}
}

// stage is an environment whose tools do what the test says. It counts its calls, and scores 1.
type stage struct {
	spec  envs.Spec
	reset func(context.Context) error
	step  func(context.Context, envs.Call) (envs.Result, error)
	calls []envs.Call
	rates time.Duration // Score takes so long
}

// onStage has the tools echo{text} and end{}.
func onStage(step func(context.Context, envs.Call) (envs.Result, error)) *stage {
	text := `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`
	return &stage{step: step, spec: envs.Spec{Tools: []envs.Tool{
		{Tool: rl.Tool{Name: "echo", Parameters: json.RawMessage(text)}},
		{Tool: rl.Tool{Name: "end", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}}}
}

// echo is the plain stage: echo says its text and earns .5, end ends.
func echo(_ context.Context, call envs.Call) (envs.Result, error) {
	if call.Name == "end" {
		return envs.Result{Content: "the end", Done: true}, nil
	}
	var a struct{ Text string }
	err := json.Unmarshal(call.Arguments, &a)
	return envs.Result{Content: a.Text, Reward: .5}, err
}

func (s *stage) Spec() envs.Spec { return s.spec }

func (s *stage) Reset(ctx context.Context, _ rl.Task) (rl.Observation, error) {
	s.calls = nil
	if s.reset != nil {
		return rl.Observation{}, s.reset(ctx)
	}
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: "go"}}}, nil
}

func (s *stage) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	s.calls = append(s.calls, call)
	return s.step(ctx, call)
}

func (s *stage) Score(ctx context.Context) (rl.Score, error) {
	select {
	case <-time.After(s.rates):
		return rl.Score{Value: 1}, nil
	case <-ctx.Done():
		return rl.Score{}, context.Cause(ctx)
	}
}
func (s *stage) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }
func (s *stage) Restore(context.Context, []byte) error    { return envs.ErrNoSnapshot }
func (s *stage) Close() error                             { return nil }

func mustRun(t testing.TB, env envs.Env, p *policy.Client, o Options) *rl.Trajectory {
	t.Helper()
	trajectory, err := Run(context.Background(), env, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return trajectory
}

var errBroken = errors.New("the stage burns")
