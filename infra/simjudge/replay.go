package simjudge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// exact finds the task that attempts are of, and their scores in the environment: the first task with the user's question in which
// every call of every attempt is answered as it was.
func (j *Judge) exact(ctx context.Context, p prompt) ([]float64, error) {
	if len(p.attempts) == 0 {
		return nil, errNotOurs
	}
	env := j.world.New()
	defer env.Close()
	question, all := p.attempts[0].question(), make([][]step, len(p.attempts))
	for i, a := range p.attempts {
		all[i] = a.steps(env.Spec())
	}
	tasks, err := j.candidates(ctx, env, question, all)
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		scores, same, err := replayed(ctx, env, task, all)
		if err != nil || same {
			return scores, err
		}
	}
	return nil, fmt.Errorf("none of the tasks %v of %s begins with %q and answers as the attempts' tools did", j.options.Tasks, j.options.World, question)
}

// maxFirsts bounds how many first calls are remembered.
const maxFirsts = 1000

// candidates are the tasks with a question that answer an attempt's first call as it was answered. Nearly all attempts at an order
// begin alike, so what all tasks answer to a first call is played once and remembered.
func (j *Judge) candidates(ctx context.Context, env envs.Env, question string, all [][]step) ([]rl.Task, error) {
	at := slices.IndexFunc(all, func(s []step) bool { return len(s) > 0 })
	if at < 0 {
		return j.tasks[question], nil
	}
	first := all[at][0]
	key := question + "\n" + first.call.Name + " " + string(first.call.Arguments)
	j.mu.Lock()
	by, ok := j.firsts[key]
	j.mu.Unlock()
	if ok {
		return by[first.result], nil
	}
	by = map[string][]rl.Task{}
	for _, task := range j.tasks[question] {
		if _, err := env.Reset(ctx, task); err != nil {
			return nil, err
		}
		r, err := env.Step(ctx, first.call)
		if err != nil {
			return nil, err
		}
		by[r.Content] = append(by[r.Content], task)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.firsts) < maxFirsts {
		j.firsts[key] = by
	}
	return by[first.result], nil
}

// question is what the user says first.
func (a attempt) question() string {
	for _, l := range a.lines {
		if l.mark == '@' {
			return l.text
		}
	}
	return ""
}

// replayed plays attempts at a task; same is false as soon as the environment answers otherwise than it did.
func replayed(ctx context.Context, env envs.Env, task rl.Task, all [][]step) (scores []float64, same bool, err error) {
	for _, steps := range all {
		if _, err := env.Reset(ctx, task); err != nil {
			return nil, false, err
		}
		for _, s := range steps {
			if r, err := env.Step(ctx, s.call); err != nil || r.Content != s.result {
				return nil, false, err
			}
		}
		s, err := env.Score(ctx)
		if err != nil {
			return nil, false, err
		}
		scores = append(scores, s.Value)
	}
	return scores, true, nil
}

// step is a call that came to the environment, and what it was answered.
type step struct {
	call   envs.Call
	result string
}

// steps are the calls of an attempt. Those that the rollout itself answered, since they fit no tool, never came to the environment.
func (a attempt) steps(spec envs.Spec) (out []step) {
	var waiting []envs.Call // their results are still to come; a Name of "" was not sent
	for _, l := range a.lines {
		switch {
		case l.mark == '>':
			waiting = append(waiting, callOf(l, spec))
		case l.mark == '<' && len(waiting) > 0:
			if c := waiting[0]; c.Name != "" && !strings.HasPrefix(l.text, "not executed: ") && !strings.HasPrefix(l.text, "no result: ") {
				out = append(out, step{c, l.text})
			}
			waiting = waiting[1:]
		}
	}
	return out
}

// callOf reads a call; its name is empty where it fits no tool.
func callOf(l line, spec envs.Spec) envs.Call {
	_, text := l.action()
	name, arguments, _ := strings.Cut(text, " ")
	tool, ok := spec.Tool(name)
	if !ok || !json.Valid([]byte(arguments)) || tool.Check(json.RawMessage(arguments)) != "" {
		return envs.Call{}
	}
	return envs.Call{ToolCall: rl.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}}
}
