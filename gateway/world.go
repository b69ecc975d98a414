package gateway

import (
	"context"
	"os"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Kind is what env.use calls an agent of one's own.
const Kind = "agent"

const at = "environment " + Kind

func init() { envs.RegisterKind(envs.Kind{Name: Kind, Open: open}) }

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
	all, err := readTasks(source, c.Agent.Goal)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, "env.agent.tasks", "%s:%w", file, err)
	}
	digest, err := digest(source, c.Agent)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Unavailable, at, "%w", err)
	}
	return envs.World{
		Name: Kind, Digest: digest,
		New:    func() envs.Env { return &Agent{c.Agent, all} },
		Count:  func(s rl.Split) int { return len(all[s]) },
		Task:   all.task,
		Facts:  func(t rl.Task) []string { return []string{all.at(t).asks()} },
		Rubric: func(t rl.Task) string { return all.at(t).Rubric },
	}, nil
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
