package rollout

import (
	"context"
	"errors"
	"slices"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// episode is a rollout in progress.
type episode struct {
	Options
	env    envs.Env
	policy *policy.Seat
	spec   envs.Spec

	turns    []rl.Turn
	seen     rl.Observation // not acted on yet
	messages []rl.Message   // the whole conversation, seen included
	actions  [][]int32      // sampled token ids of its assistant messages
	sequence []int32        // prompt and action of the last turn
	recalled bool           // a result of the turn at hand is the journal's
}

// play takes turns until something ends the episode. live is ctx with the episode's deadline.
func (e *episode) play(ctx, live context.Context) (rl.StopReason, error) {
	if err := e.begin(live); err != nil {
		return "", err
	}
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

// begin puts the environment where the record has its newest snapshot, or at the task's start.
func (e *episode) begin(live context.Context) error {
	if ok, err := e.restore(live); ok || err != nil {
		return err
	}
	first, err := e.env.Reset(live, e.Task)
	if err != nil {
		return e.envError(err)
	}
	if e.spec.System != "" {
		first.Messages = append([]rl.Message{{Role: rl.System, Content: e.spec.System}}, first.Messages...)
	}
	e.see(first)
	return nil
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
	e.take(action)
	e.recalled = false
	o, reward, stop, err := e.execute(ctx, live, action.Message)
	if err != nil {
		return "", err
	}
	if e.recalled {
		reward = e.past().Earned
	}
	e.turns[len(e.turns)-1].Reward = reward
	e.see(o)
	return stop, nil
}

// take makes an action the latest.
func (e *episode) take(a rl.Action) {
	e.turns = append(e.turns, rl.Turn{Observation: e.seen, Action: a})
	e.messages = append(e.messages, a.Message)
	e.actions = append(e.actions, a.Tokens)
	e.sequence = rl.Sequence(e.sequence, a)
}

// earned is the reward of the latest turn.
func (e *episode) earned() float64 {
	if n := len(e.turns); n > 0 {
		return e.turns[n-1].Reward
	}
	return 0
}

// action is the recorded one, or a new one, committed.
func (e *episode) action(ctx, live context.Context) (rl.Action, rl.StopReason, error) {
	if len(e.turns) < len(e.Recorded) {
		a, err := e.replayed()
		return a, "", err
	}
	if e.Exact {
		return rl.Action{}, rl.EndOfRecord, nil
	}
	a, err := e.sample(live)
	switch {
	case errors.Is(err, endpoint.ErrContextLimit):
		return a, rl.ContextLimit, nil
	case overdue(live, err):
		return a, rl.Timeout, nil
	case err == nil && e.Record != nil:
		// Not under the episode's deadline: a commit is not cut off half-way.
		err = e.record(ctx, a)
	}
	return a, "", err
}

// record commits the action of a new turn.
func (e *episode) record(ctx context.Context, a rl.Action) error {
	r := rl.Recorded{Turn: rl.Turn{Observation: e.seen, Action: a}, Earned: e.earned()}
	if n := len(e.turns); n > 0 && n%snapshotEvery == 0 {
		snapshot, err := e.env.Snapshot(ctx)
		if err != nil && !errors.Is(err, envs.ErrNoSnapshot) {
			return e.envError(err)
		}
		if len(snapshot) <= snapshotLimit {
			r.Snapshot = snapshot
		}
	}
	return e.Record(ctx, r)
}

// A snapshot is recorded with every so many turns, unless it is longer than this, in bytes: then the turns are replayed.
const (
	snapshotEvery = 8
	snapshotLimit = 256 << 10
)

// sample asks the policy for the next action.
func (e *episode) sample(live context.Context) (rl.Action, error) {
	seed := rl.Seed(e.Seed, "turn", len(e.turns))
	r, err := e.policy.Act(live, policy.Request{
		Model: e.Model, Messages: e.messages, Actions: e.actions, Tools: e.tools(),
		Temperature: e.Temperature, MaxTokens: e.MaxTokens, Seed: seed, Timeout: e.TurnTimeout, Training: e.Training,
	})
	if err != nil {
		return rl.Action{}, err
	}
	kept := 0
	for kept < min(len(e.sequence), len(r.Prompt)) && e.sequence[kept] == r.Prompt[kept] {
		kept++
	}
	return rl.Action{
		Message: r.Message, Version: e.Served(r.Model), Seed: seed, Finish: r.Finish,
		Kept: kept, Prompt: slices.Clip(r.Prompt[kept:]), Tokens: r.Tokens, LogProbs: r.LogProbs,
	}, nil
}

// Served is the version that answered: the one that was asked for, or another by whose name the answer came, which is
// then the behaviour policy of its turn. A server's own name for the model that was asked for is no other version.
func (o Options) Served(answered string) rl.Version {
	isVersion := func(name string) bool {
		_, _, err := rl.Version(name).Parse()
		return err == nil
	}
	if answered == o.Model || !isVersion(o.Model) && !isVersion(answered) {
		return o.Version
	}
	return rl.Version(answered)
}

func (e *episode) tools() []rl.Tool {
	tools := make([]rl.Tool, len(e.spec.Tools))
	for i, t := range e.spec.Tools {
		tools[i] = t.Tool
	}
	return tools
}
