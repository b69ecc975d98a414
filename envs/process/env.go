package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// env is an episode in a program.
type env struct {
	*world
	task  task
	place *place // nil: no episode
}

func (e *env) Spec() envs.Spec { return e.spec }

// Reset waits for a place among env.process.processes x episodes.
func (e *env) Reset(ctx context.Context, t rl.Task) (rl.Observation, error) {
	if t.Index < 0 || t.Index >= e.Count(t.Split) || t != e.world.task(t.Split, t.Index) {
		return rl.Observation{}, rl.Errorf(rl.Invalid, at, "%+v is no task of %s", t, e.hello.Name)
	}
	var r resetReply
	if err := e.begin(ctx, request{Do: "reset", Task: taskOf(t.Split, t.Index)}, &r); err != nil {
		return rl.Observation{}, err
	}
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: *r.Observation}}}, nil
}

// begin begins an episode by a request that has its task.
func (e *env) begin(ctx context.Context, q request, to interface{ whole() error }) (err error) {
	e.Close()
	if e.place, err = e.pool.take(ctx); err != nil {
		return err
	}
	e.task = *q.Task
	return e.ask(ctx, q, to)
}

func (e *env) ask(ctx context.Context, q request, to interface{ whole() error }) error {
	if e.place == nil {
		return rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	}
	q.Episode = e.place.episode
	return e.place.ask(ctx, q, to)
}

// Step sends calls that fit the tools' schemas; others are answered here.
func (e *env) Step(ctx context.Context, c envs.Call) (envs.Result, error) {
	if e.place == nil {
		return envs.Result{}, rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first")
	}
	if wrong := e.wrong(c.ToolCall); wrong != "" {
		return envs.Result{Content: wrong}, nil
	}
	var r stepReply
	if err := e.ask(ctx, request{Do: "step", Call: &call{Name: c.Name, Arguments: c.Arguments, Key: c.Key}}, &r); err != nil {
		return envs.Result{}, err
	}
	result := envs.Result{Done: r.Done, Reward: r.Reward}
	if r.Observation != nil {
		result.Content = *r.Observation
	}
	return result, nil
}

// wrong says why a call is not sent; empty: it is.
func (e *env) wrong(c rl.ToolCall) string {
	if c.Name == envs.FinalText && e.spec.TextEnds {
		if !json.Valid(c.Arguments) {
			return "bad call: the final text is no JSON"
		}
		return ""
	}
	return e.spec.Refuses(c)
}

// saved is a snapshot: the program's own, and the task that it is of.
type saved struct {
	Task     task            `json:"task"`
	Snapshot json.RawMessage `json:"snapshot"`
}

func (e *env) Snapshot(ctx context.Context) ([]byte, error) {
	if !e.hello.Snapshots {
		return nil, envs.ErrNoSnapshot
	}
	var r snapshotReply
	if err := e.ask(ctx, request{Do: "snapshot"}, &r); err != nil {
		return nil, err
	}
	return rl.CanonicalJSON(saved{Task: e.task, Snapshot: r.Snapshot}), nil
}

func (e *env) Restore(ctx context.Context, snapshot []byte) error {
	if !e.hello.Snapshots {
		return envs.ErrNoSnapshot
	}
	var s saved
	d := json.NewDecoder(bytes.NewReader(snapshot))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || d.More() || s.Task.Index < 0 || s.Task.Index >= e.Count(s.Task.Split) || s.Task != *taskOf(s.Task.Split, s.Task.Index) || s.Snapshot == nil {
		return rl.Errorf(rl.Corrupt, at, "%.80q is no snapshot of an episode of %s", snapshot, e.hello.Name)
	}
	err := e.begin(ctx, request{Do: "restore", Task: &s.Task, Snapshot: s.Snapshot}, &head{})
	if errors.Is(err, errSays) {
		return rl.Errorf(rl.Corrupt, at, "the snapshot is refused: %w", err)
	}
	return err
}

func (e *env) Score(ctx context.Context) (rl.Score, error) {
	var r scoreReply
	if err := e.ask(ctx, request{Do: "score"}, &r); err != nil {
		return rl.Score{}, err
	}
	s := rl.Score{Unscored: r.Unscored, Reason: r.Reason, Metrics: r.Metrics}
	if r.Score != nil {
		s.Value = *r.Score
	}
	return s, nil
}

// Close does not wait for the program.
func (e *env) Close() error {
	if e.place != nil {
		e.pool.leave(e.place)
		e.place = nil
	}
	return nil
}
