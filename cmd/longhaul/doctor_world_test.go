package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// desk is a world of tasks for each of which a letter says what its reference does: a, answers rightly; w, wrongly; j, for a judge; n,
// nothing; s, sends mail; l, looks about for ever.
type desk struct {
	tasks string
	sent  *int
	task  byte
}

func (d *desk) world() envs.World {
	return envs.World{
		Name: "desk", New: func() envs.Env { return &desk{tasks: d.tasks, sent: d.sent} },
		Task:  func(split rl.Split, i int) rl.Task { return rl.Task{ID: rl.TaskID(string(split) + "-1"), Index: i} },
		Count: func(split rl.Split) int { return map[rl.Split]int{rl.Train: len(d.tasks)}[split] },
		Reference: func(task rl.Task) func([]rl.Message) rl.Message {
			return func([]rl.Message) rl.Message {
				switch d.tasks[task.Index] {
				case 's':
					return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{ID: "c", Name: "mail", Arguments: json.RawMessage("{}")}}}
				case 'l':
					return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{ID: "c", Name: "look", Arguments: json.RawMessage("{}")}}}
				case 'n':
					return rl.Message{Role: rl.Assistant}
				}
				return rl.Message{Role: rl.Assistant, Content: "so"}
			}
		},
	}
}

func (d *desk) Spec() envs.Spec {
	return envs.Spec{TextEnds: true, Tools: []envs.Tool{{Tool: rl.Tool{Name: "mail", Parameters: json.RawMessage("{}")}, Effect: envs.ExternalOnce}}}
}

func (d *desk) Reset(_ context.Context, task rl.Task) (rl.Observation, error) {
	d.task = d.tasks[task.Index]
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: "so?"}}}, nil
}

func (d *desk) Step(_ context.Context, call envs.Call) (envs.Result, error) {
	if call.Name == "mail" {
		*d.sent++
	}
	return envs.Result{Done: call.Name == envs.FinalText}, nil
}

func (d *desk) Score(context.Context) (rl.Score, error) {
	switch d.task {
	case 'j':
		return rl.Score{Unscored: "a judge is to score it"}, nil
	case 'w':
		return rl.Score{Reason: "not so"}, nil
	case 'l':
		return rl.Score{}, nil
	}
	return rl.Score{Value: 1}, nil
}

func (d *desk) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }
func (d *desk) Restore(context.Context, []byte) error    { return envs.ErrNoSnapshot }
func (d *desk) Close() error                             { return nil }

// doctor plays references, but for their effects, and holds tasks to a score only where there is one.
func TestReferencesAreChecked(t *testing.T) {
	for tasks, want := range map[string]check{
		"aajnss": {State: fine, Found: "2 earn full reward; not scored by the environment: 1; without a reference: 1; not played, since they change what is outside of the episode: 2"},
		"aw":     {State: failing, Found: "train-1 earns 0: not so"},
		"al":     {State: failing, Found: "train-1 earns 0: it was not over after 4 actions, env.max_turns"},
	} {
		sent := 0
		cfg := rl.Config{Env: rl.EnvConfig{MaxTurns: 4, Tasks: rl.TasksConfig{Train: rl.TaskRange{Last: len(tasks) - 1}, Eval: rl.TaskRange{Last: 19}}}}
		got := checkReferences(t.Context(), (&desk{tasks: tasks, sent: &sent}).world(), cfg)
		if got.State != want.State || got.Found != want.Found || sent > 0 {
			t.Errorf("%s: %+v, %d mails", tasks, got, sent)
		}
	}
}
