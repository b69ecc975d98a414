package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// episode is a rollout in progress.
type episode struct {
	Options
	env    envs.Env
	policy *policy.Client
	spec   envs.Spec

	turns    []rl.Turn
	seen     rl.Observation // not acted on yet
	messages []rl.Message   // the whole conversation, seen included
	actions  [][]int32      // sampled token ids of its assistant messages
	sequence []int32        // prompt and action of the last turn
}

// play takes turns until something ends the episode. live is ctx with the episode's deadline.
func (e *episode) play(ctx, live context.Context) (rl.StopReason, error) {
	first, err := e.env.Reset(live, e.Task)
	if err != nil {
		return "", e.envError(err)
	}
	if e.spec.System != "" {
		first.Messages = append([]rl.Message{{Role: rl.System, Content: e.spec.System}}, first.Messages...)
	}
	e.see(first)
	stop, err := rl.MaxTurns, error(nil)
	for len(e.turns) < e.MaxTurns {
		if stop, err = e.turn(ctx, live); stop != "" || err != nil {
			break
		}
		stop = rl.MaxTurns
	}
	if err == nil && stop != rl.Timeout && len(e.turns) < len(e.Recorded) {
		return "", e.diverged("the episode ends with %s, but %d turns were recorded", stop, len(e.Recorded))
	}
	return stop, err
}

// see makes an observation the latest.
func (e *episode) see(o rl.Observation) {
	e.seen = o
	e.messages = append(e.messages, o.Messages...)
}

// turn takes one turn: an action, and what comes of it.
func (e *episode) turn(ctx, live context.Context) (rl.StopReason, error) {
	action, stop, err := e.action(ctx, live)
	if stop != "" || err != nil {
		return stop, err
	}
	e.turns = append(e.turns, rl.Turn{Observation: e.seen, Action: action})
	e.messages = append(e.messages, action.Message)
	e.actions = append(e.actions, action.Tokens)
	e.sequence = rl.Sequence(e.sequence, action)
	o, reward, stop, err := e.execute(live, action.Message)
	if err != nil {
		return "", err
	}
	e.turns[len(e.turns)-1].Reward = reward
	e.see(o)
	return stop, nil
}

// action is the recorded one, or a new one, committed.
func (e *episode) action(ctx, live context.Context) (rl.Action, rl.StopReason, error) {
	if len(e.turns) < len(e.Recorded) {
		a, err := e.replayed()
		return a, "", err
	}
	a, err := e.sample(live)
	switch {
	case errors.Is(err, policy.ErrContextLimit):
		return a, rl.ContextLimit, nil
	case overdue(live, err):
		return a, rl.Timeout, nil
	case err == nil && e.Record != nil:
		// Not under the episode's deadline: a commit is not cut off half-way.
		err = e.Record(ctx, rl.Turn{Observation: e.seen, Action: a})
	}
	return a, "", err
}

// sample asks the policy for the next action.
func (e *episode) sample(live context.Context) (rl.Action, error) {
	asking, cancel := within(live, e.TurnTimeout)
	defer cancel()
	seed := rl.Seed(e.Seed, "turn", len(e.turns))
	r, err := e.policy.Act(asking, policy.Request{
		Model: e.Model, Messages: e.messages, Actions: e.actions, Tools: e.tools(),
		Temperature: e.Temperature, MaxTokens: e.MaxTokens, Seed: seed,
	})
	if err != nil {
		return rl.Action{}, err
	}
	kept := 0
	for kept < min(len(e.sequence), len(r.Prompt)) && e.sequence[kept] == r.Prompt[kept] {
		kept++
	}
	return rl.Action{
		Message: r.Message, Version: e.Version, Seed: seed, Finish: r.Finish,
		Kept: kept, Prompt: slices.Clip(r.Prompt[kept:]), Tokens: r.Tokens, LogProbs: r.LogProbs,
	}, nil
}

func (e *episode) tools() []rl.Tool {
	tools := make([]rl.Tool, len(e.spec.Tools))
	for i, t := range e.spec.Tools {
		tools[i] = t.Tool
	}
	return tools
}

// toolNames lists the tools for a model that called none of them.
func (e *episode) toolNames() string {
	names := make([]string, len(e.spec.Tools))
	for i, t := range e.spec.Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
