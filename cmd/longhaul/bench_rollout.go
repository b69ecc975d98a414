package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"
	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

const (
	benchTurns   = 20
	benchLatency = 50 * time.Millisecond
	benchGroup   = 8
)

// benchRollout plays 128 and 1,024 episodes side by side: in a bare Go loop with go-openai that keeps nothing, and
// through Collect on the embedded servers with every trajectory stored and every group scored.
func benchRollout(ctx context.Context, a *app) (b benchmark, err error) {
	b = benchmark{Name: "rollout", Ratios: map[string]float64{}, Figures: map[string]float64{}}
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
	inside := &app{data: dir, out: a.out, log: a.log, patience: a.patience, getenv: func(name string) string {
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
	for i, episodes := range []int{benchGroup, 128, 1024} { // the first warms up connections and caches
		bare, err := bareLoop(ctx, url, episodes)
		if err != nil {
			return b, err
		}
		line, err := lineLoop(ctx, h, url, episodes)
		if err != nil {
			return b, err
		}
		if i > 0 {
			b.Figures[fmt.Sprintf("bare_loop_seconds_%d_episodes", episodes)] = bare.Seconds()
			b.Figures[fmt.Sprintf("line_seconds_%d_episodes", episodes)] = line.Seconds()
			b.Ratios[fmt.Sprintf("line over bare loop, %d episodes", episodes)] = line.Seconds() / bare.Seconds()
		}
	}
	return b, nil
}

// fixedPolicy answers every chat completion after benchLatency with one and the same tool call, which never ends an
// episode.
func fixedPolicy() (url string, stop func() error, err error) {
	const tokensPerMessage = 10
	call := json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"find_order","arguments":"{\"order\":\"00\"}"}}]}`)
	logprob := strings.TrimSuffix(strings.Repeat(`{"token":"x","logprob":-1},`, tokensPerMessage), ",")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string            `json:"model"`
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(benchLatency)
		zeros := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"id":"x","object":"chat.completion","model":%q,"prompt_token_ids":%s,"choices":[{"index":0,"finish_reason":"tool_calls","message":%s,"token_ids":%s,"logprobs":{"content":[%s]}}]}`,
			q.Model, zeros(tokensPerMessage*len(q.Messages)), call, zeros(tokensPerMessage), logprob)
		w.Header().Set("Content-Type", "application/json")
		w.Write(b.Bytes())
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go server.Serve(l)
	return "http://" + l.Addr().String() + "/v1", server.Close, nil
}

// bareLoop is what one would write without longhaul: a goroutine an episode, everything in memory.
func bareLoop(ctx context.Context, url string, episodes int) (time.Duration, error) {
	world, err := envs.Get("orders")
	if err != nil {
		return 0, err
	}
	c := openai.DefaultConfig("")
	c.BaseURL = url
	c.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: episodes}}
	asked := openai.NewClientWithConfig(c)
	var wg sync.WaitGroup
	errs := make(chan error, episodes)
	start := time.Now()
	for i := range episodes {
		wg.Go(func() { errs <- bareEpisode(ctx, asked, world, world.Task(rl.Train, i/benchGroup)) })
	}
	wg.Wait()
	wall := time.Since(start)
	close(errs)
	for err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return wall, nil
}

func bareEpisode(ctx context.Context, c *openai.Client, world envs.World, task rl.Task) error {
	env := world.New()
	defer env.Close()
	seen, err := env.Reset(ctx, task)
	if err != nil {
		return err
	}
	var tools []openai.Tool
	for _, t := range env.Spec().Tools {
		tools = append(tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
	}
	messages := []openai.ChatCompletionMessage{{Role: "system", Content: env.Spec().System}, {Role: "user", Content: seen.Messages[0].Content}}
	for range benchTurns {
		r, err := c.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: "bench", Messages: messages, Tools: tools, LogProbs: true})
		if err != nil {
			return err
		}
		action := r.Choices[0].Message
		messages = append(messages, action)
		for _, call := range action.ToolCalls {
			result, err := env.Step(ctx, envs.Call{ToolCall: rl.ToolCall{Name: call.Function.Name, Arguments: json.RawMessage(call.Function.Arguments)}})
			if err != nil {
				return err
			}
			messages = append(messages, openai.ChatCompletionMessage{Role: "tool", Content: result.Content, ToolCallID: call.ID})
		}
	}
	_, err = env.Score(ctx)
	return err
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
