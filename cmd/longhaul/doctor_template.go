package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// checkTemplate finds what a model's chat template does that training suffers from, which no server says: that it passes the
// environment's tools over, or writes the past otherwise than it was sampled. found is empty where it does neither.
func checkTemplate(ctx context.Context, cfg rl.Config, client *policy.Client) (found, mend string, err error) {
	world, err := envs.Open(ctx, cfg.Env)
	if err != nil {
		return "", "", err
	}
	q := policy.Request{Model: cfg.Policy.Model, Messages: []rl.Message{{Role: rl.User, Content: "hello"}}, MaxTokens: 1, Temperature: 1, Training: true}
	without, err := client.Act(ctx, q)
	if err != nil {
		return "", "", err
	}
	for _, t := range world.New().Spec().Tools {
		q.Tools = append(q.Tools, t.Tool)
	}
	q.MaxTokens = cfg.Sampling.MaxTokens
	with, err := client.Act(ctx, q)
	if err != nil {
		return "", "", err
	}
	if len(q.Tools) > 0 && slices.Equal(with.Prompt, without.Prompt) {
		return "the model never sees the environment's tools: its prompt is the same without them",
			"give the model a chat template that shows tools: in its directory, or by vLLM's --chat-template", nil
	}
	broken, err := secondTurn(ctx, client, q, with)
	if broken == "" || err != nil {
		return "", "", err
	}
	return fmt.Sprintf("a second turn's prompt does not begin with the tokens so far (%s), so that a training row ends there", broken), broken.Remedy(), nil
}

// secondTurn answers what was said first, as an environment would, and says how the next prompt leaves the tokens so far; "" where
// it does not. An action that was cut off says nothing: its call could not be read, and is written anew as an empty one.
func secondTurn(ctx context.Context, client *policy.Client, q policy.Request, first policy.Response) (rl.Break, error) {
	q.Messages = append(q.Messages, first.Message)
	for _, call := range first.Message.ToolCalls {
		if call.Invalid != "" {
			return "", nil
		}
		q.Messages = append(q.Messages, rl.Message{Role: rl.ToolRole, Content: "ok", ToolCallID: call.ID})
	}
	if len(first.Message.ToolCalls) == 0 {
		q.Messages = append(q.Messages, rl.Message{Role: rl.User, Content: "go on"})
	}
	q.MaxTokens = 1
	second, err := client.Act(ctx, q)
	if err != nil {
		return "", err
	}
	sequence, kept := slices.Concat(first.Prompt, first.Tokens), 0
	for kept < min(len(sequence), len(second.Prompt)) && sequence[kept] == second.Prompt[kept] {
		kept++
	}
	two := rl.Trajectory{Turns: []rl.Turn{
		{Action: rl.Action{Message: first.Message, Prompt: first.Prompt, Tokens: first.Tokens}},
		{Action: rl.Action{Kept: kept, Prompt: second.Prompt[kept:], Tokens: second.Tokens}},
	}}
	return two.Breaks()[1], nil
}
