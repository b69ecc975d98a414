package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// checkReferences plays the reference solutions of a world whose tasks are written down, as far as there is time: each must earn full
// reward, or nobody can. What the environment does not score by itself only has to go through.
func checkReferences(ctx context.Context, w envs.World, cfg rl.Config) check {
	const name = "reference solutions"
	solved, unscored, without, outside := 0, 0, 0, 0
	for _, of := range []struct {
		split rl.Split
		tasks rl.TaskRange
	}{{rl.Train, cfg.Env.Tasks.Train}, {rl.Eval, cfg.Env.Tasks.Eval}} {
		for i := of.tasks.First; i <= min(of.tasks.Last, w.Count(of.split)-1); i++ {
			task := w.Task(of.split, i)
			score, played, err := playReference(ctx, w, task, cfg.Env.MaxTurns)
			switch {
			case ctx.Err() != nil:
				return check{Name: name, State: warning, Found: fmt.Sprintf("%d earn full reward; there was no time for %s and those after it", solved, task.ID)}
			case errors.Is(err, errOutside):
				outside++
			case err != nil:
				return verdict(name, "", "see what it says above", fmt.Errorf("%s: %w", task.ID, err))
			case !played:
				without++
			case !score.Scored():
				unscored++
			case score.Value < 1:
				return verdict(name, "", "mend the task's reference, its checks, or env.max_turns", fmt.Errorf("%s earns %g: %s", task.ID, score.Value, score.Reason))
			default:
				solved++
			}
		}
	}
	found := []string{fmt.Sprintf("%d earn full reward", solved)}
	for _, k := range []struct {
		n    int
		what string
	}{{unscored, "not scored by the environment"}, {without, "without a reference"}, {outside, "not played, since they change what is outside of the episode"}} {
		if k.n > 0 {
			found = append(found, fmt.Sprintf("%s: %d", k.what, k.n))
		}
	}
	return check{Name: name, State: fine, Found: strings.Join(found, "; ")}
}

// errOutside is of a reference that nobody should play to see whether it is right.
var errOutside = errors.New("a call has an effect outside of the episode")

// playReference plays a task as its reference does, in so many actions at most. played is false when it does nothing. Errors: errOutside
// before such a call, and the environment's.
func playReference(ctx context.Context, w envs.World, task rl.Task, turns int) (score rl.Score, played bool, err error) {
	env := envs.Guard(w.New(), w.Name)
	defer env.Close()
	o, err := env.Reset(ctx, task)
	if err != nil {
		return score, false, err
	}
	messages, next := o.Messages, w.Reference(task)
	done, most := false, turns
	for ; turns > 0 && !done; turns-- {
		action := next(messages)
		calls := action.ToolCalls
		if len(calls) == 0 && action.Content != "" {
			calls = []rl.ToolCall{{Name: envs.FinalText, Arguments: rl.CanonicalJSON(action.Content)}}
		}
		if len(calls) == 0 {
			break
		}
		played = true
		messages = append(messages, action)
		for _, call := range calls {
			if tool, _ := env.Spec().Tool(call.Name); tool.Effect.External() {
				return score, true, errOutside
			}
			r, err := env.Step(ctx, envs.Call{ToolCall: call})
			if err != nil {
				return score, true, err
			}
			done = done || r.Done
			messages = append(messages, rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: call.ID})
		}
	}
	if score, err = env.Score(ctx); turns == 0 && !done && score.Reason == "" {
		score.Reason = fmt.Sprintf("it was not over after %d actions, env.max_turns", most)
	}
	return score, played, err
}
