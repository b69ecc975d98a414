package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

const (
	benchTurns   = 20
	benchLatency = 50 * time.Millisecond
	benchGroup   = 8
)

// benchRollout plays 128 and 1,024 episodes side by side with the rollout loop and its policy client alone, beside a bare
// Go loop with go-openai: what the line's own code costs before anything is kept.
func benchRollout(ctx context.Context, a *app) (b benchmark, err error) {
	b = benchmark{Name: "rollout", Ratios: map[string]float64{}, Figures: map[string]float64{}}
	url, stop, err := fixedPolicy()
	if err != nil {
		return b, err
	}
	defer stop()
	return b, besideBareLoop(ctx, url, &b, func(episodes int) (time.Duration, error) { return plainLoop(ctx, url, episodes) })
}

// besideBareLoop measures a way of playing episodes against the bare loop, twice 8 to warm up, then 128 and 1,024.
func besideBareLoop(ctx context.Context, url string, b *benchmark, play func(episodes int) (time.Duration, error)) error {
	for i, episodes := range []int{benchGroup, 128, 1024} { // the first warms up connections and caches
		bare, err := bareLoop(ctx, url, episodes)
		if err != nil {
			return err
		}
		ours, err := play(episodes)
		if err != nil {
			return err
		}
		if i > 0 {
			b.Figures[fmt.Sprintf("bare_loop_seconds_%d_episodes", episodes)] = bare.Seconds()
			b.Figures[fmt.Sprintf("%s_seconds_%d_episodes", b.Name, episodes)] = ours.Seconds()
			b.Ratios[fmt.Sprintf("%s over bare loop, %d episodes", b.Name, episodes)] = ours.Seconds() / bare.Seconds()
		}
	}
	return nil
}

// plainLoop runs episodes with the rollout loop, in memory.
func plainLoop(ctx context.Context, url string, episodes int) (time.Duration, error) {
	world, err := envs.Get("orders")
	if err != nil {
		return 0, err
	}
	client := policy.New(policy.Options{URL: url, Concurrency: episodes})
	errs := make([]error, episodes)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range episodes {
		wg.Go(func() {
			task := world.Task(rl.Train, i/benchGroup)
			_, errs[i] = rollout.Run(ctx, world.New(), client, rollout.Options{
				Episode: rl.EpisodeID{Run: "bench", Update: 1, Task: task.ID, Member: i % benchGroup}, Task: task,
				Model: "bench@000000", Version: "bench@000000", Temperature: 1, MaxTokens: 64, MaxTurns: benchTurns,
			})
		})
	}
	wg.Wait()
	return time.Since(start), errors.Join(errs...)
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
