package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Kind is what env.use calls an agent of one's own.
const Kind = "agent"

const at = "environment " + Kind

func init() { envs.RegisterKind(envs.Kind{Name: Kind, Open: open}) }

// Task is a line of the file of tasks.
type Task struct {
	Goal   string   `json:"goal"`             // what the agent is told
	Split  rl.Split `json:"split,omitempty"`  // train, also when empty, or eval
	Kind   string   `json:"kind,omitempty"`   // a label: evaluations count successes by it
	Rubric string   `json:"rubric,omitempty"` // what makes an attempt good, to a judge
	// Data is for the agent's program, as LONGHAUL_TASK; Answer is for env.agent.check alone, which is told all of the line.
	Data   json.RawMessage `json:"data,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// tasks are those of a file, by split, each at its index.
type tasks map[rl.Split][]Task

func open(c rl.EnvConfig) (envs.World, error) {
	if _, err := child.Words(c.Agent.Command); err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.agent.command", "%w", err)
	}
	if _, err := child.Words(c.Agent.Check); err != nil && c.Agent.Check != "" {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.agent.check", "%w", err)
	}
	file := c.Agent.Tasks
	source, err := os.ReadFile(file)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.agent.tasks", "%w", err)
	}
	all, err := readTasks(source)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.agent.tasks", "%s:%w", file, err)
	}
	sum := sha256.Sum256(source)
	return envs.World{
		Name: Kind, Digest: hex.EncodeToString(sum[:]),
		New:    func() envs.Env { return &Agent{c.Agent, all} },
		Count:  func(s rl.Split) int { return len(all[s]) },
		Task:   all.task,
		Facts:  func(t rl.Task) []string { return []string{all.at(t).Goal} },
		Rubric: func(t rl.Task) string { return all.at(t).Rubric },
	}, nil
}

// readTasks reads a file of tasks. The error begins with the line's number, where it is about one.
func readTasks(source []byte) (tasks, error) {
	all, held := tasks{}, map[string]rl.Split{}
	for i, line := range bytes.Split(source, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t := Task{Split: rl.Train}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, fmt.Errorf("%d: more than one task in a line", i+1)
		}
		switch was, known := held[t.Goal]; {
		case t.Goal == "":
			return nil, fmt.Errorf("%d: it has no goal", i+1)
		case t.Split != rl.Train && t.Split != rl.Eval:
			return nil, fmt.Errorf("%d: split is %q: train or eval", i+1, t.Split)
		case known && was != t.Split && len(t.Data) == 0:
			return nil, fmt.Errorf("%d: its goal is that of a task of the other split: what is evaluated must not be met in training", i+1)
		}
		held[t.Goal] = t.Split
		all[t.Split] = append(all[t.Split], t)
	}
	for _, split := range []rl.Split{rl.Train, rl.Eval} {
		if len(all[split]) == 0 {
			return nil, fmt.Errorf(" there is no task with split %q", split)
		}
	}
	return all, nil
}

// task is the one of a split with an index, which may be past the end: Count says so.
func (all tasks) task(split rl.Split, index int) rl.Task {
	t := rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: Kind, Split: split, Index: index}
	t.Kind = all.at(t).Kind
	return t
}

func (all tasks) at(t rl.Task) Task {
	if of := all[t.Split]; t.Index >= 0 && t.Index < len(of) {
		return of[t.Index]
	}
	return Task{}
}

// Agent is the Env of an agent of one's own. It takes its turns by itself (Run), with tools that are its own: of the contract it
// has the goal.
type Agent struct {
	rl.AgentConfig
	tasks tasks
}

// Spec has no tools.
func (a *Agent) Spec() envs.Spec { return envs.Spec{} }

// Reset gives the goal of a task.
func (a *Agent) Reset(_ context.Context, t rl.Task) (rl.Observation, error) {
	task, err := a.task(t)
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: task.Goal}}}, err
}

func (a *Agent) task(t rl.Task) (Task, error) {
	task := a.tasks.at(t)
	if task.Goal == "" || t != a.tasks.task(t.Split, t.Index) {
		return task, rl.Errorf(rl.Invalid, at, "%+v is not a task of env.agent.tasks", t)
	}
	return task, nil
}

// Step is Invalid.
func (a *Agent) Step(context.Context, envs.Call) (envs.Result, error) {
	return envs.Result{}, rl.Errorf(rl.Invalid, at, "an agent takes its turns by itself")
}

// Snapshot is envs.ErrNoSnapshot, and so is Restore: an agent's episode is resumed by running it again.
func (a *Agent) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }

// Restore is envs.ErrNoSnapshot.
func (a *Agent) Restore(context.Context, []byte) error { return envs.ErrNoSnapshot }

// Score has none: Run gives it.
func (a *Agent) Score(context.Context) (rl.Score, error) {
	return rl.Score{Unscored: "no agent has run"}, nil
}

// Close does nothing.
func (a *Agent) Close() error { return nil }
