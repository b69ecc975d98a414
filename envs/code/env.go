package code

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// mostSource bounds a program or a file that the agent writes in one call, in bytes: what a process takes as an argument.
const mostSource = 96 << 10

// env is an episode: a working directory, and the sandbox that programs run in over it.
type env struct {
	*world
	open    bool
	problem problem
	state   state
}

// state is what an episode has come to, beside its files.
type state struct {
	Split rl.Split `json:"split"`
	Index int      `json:"index"`
	Calls int      `json:"calls"` // of programs
	Done  bool     `json:"done,omitempty"`
	files tree
}

func (e *env) Spec() envs.Spec { return e.spec }

func (e *env) Reset(_ context.Context, task rl.Task) (rl.Observation, error) {
	p, known := e.problemOf(task.Split, task.Index)
	if !known || task != e.task(task.Split, task.Index) {
		return rl.Observation{}, rl.Errorf(rl.Invalid, at, "%+v is not a task of this world", task)
	}
	e.open, e.problem, e.state = true, p, state{Split: task.Split, Index: task.Index, files: p.tree()}
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: p.Goal}}}, nil
}

func (e *env) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	switch {
	case !e.open:
		return envs.Result{}, closed()
	case e.state.Done:
		return envs.Result{Content: "closed", Done: true}, nil
	}
	if wrong := e.spec.Refuses(call.ToolCall); wrong != "" {
		return envs.Result{Content: wrong}, nil
	}
	var given struct{ Path, Content, Code, Command string }
	if err := json.Unmarshal(call.Arguments, &given); err != nil {
		return envs.Result{Content: "bad call: " + err.Error()}, nil
	}
	if len(given.Content) > mostSource || len(given.Code) > mostSource || len(given.Command) > mostSource {
		return envs.Result{Content: fmt.Sprintf("bad call: one call takes at most %d bytes", mostSource)}, nil
	}
	if strings.Contains(given.Code+given.Command, "\x00") {
		return envs.Result{Content: "bad call: there is no NUL in a program"}, nil
	}
	switch call.Name {
	case "submit":
		e.state.Done = true
		return envs.Result{Content: "submitted", Done: true}, nil
	case "read_file":
		return envs.Result{Content: e.read(given.Path)}, nil
	case "write_file":
		return envs.Result{Content: e.write(given.Path, given.Content)}, nil
	case "run_shell":
		return e.run(ctx, program{language: shell, source: given.Command})
	}
	return e.run(ctx, program{language: python, source: given.Code})
}

func (e *env) read(name string) string {
	p, wrong := local(name)
	content, known := e.state.files[p]
	switch {
	case wrong != "":
		return wrong
	case !known:
		return "there is no file " + p
	case len(content) == 0:
		return "[the file is empty]"
	}
	return string(content)
}

func (e *env) write(name, content string) string {
	p, wrong := local(name)
	if wrong == "" {
		e.state.files = e.state.files.clone()
		wrong = e.state.files.put(p, []byte(content), e.bounds.disk)
	}
	if wrong != "" {
		return wrong
	}
	return fmt.Sprintf("wrote %d bytes to %s", len(content), p)
}

func (e *env) run(ctx context.Context, p program) (envs.Result, error) {
	e.state.Calls++
	p.seed, p.most = rl.Seed(0, "code", e.state.Split, e.state.Index, e.state.Calls), e.config.OutputBytes
	o, err := e.box.run(ctx, e.state.files, p)
	if err != nil {
		return envs.Result{}, err
	}
	if o.tree != nil {
		e.state.files = o.tree
	}
	return envs.Result{Content: o.text()}, nil
}

// Score is 1 when the function passes all tests of the task as the files stand, else 0; the metric passed is the share that
// it passes.
func (e *env) Score(ctx context.Context) (rl.Score, error) {
	if !e.open {
		return rl.Score{}, closed()
	}
	n, why, err := grade(ctx, e.box, e.state.files, e.problem, rl.Seed(0, "code", e.state.Split, e.state.Index, "tests"))
	if err != nil {
		return rl.Score{}, err
	}
	s := rl.Score{Reason: why, Metrics: map[string]float64{"passed": float64(n) / float64(len(e.problem.Tests))}}
	if n == len(e.problem.Tests) {
		s.Value, s.Reason = 1, "all tests pass"
	}
	return s, nil
}

// Close forgets the episode. No program of it still runs.
func (e *env) Close() error {
	e.open, e.state = false, state{}
	return nil
}

func closed() error { return rl.Errorf(rl.Invalid, at, "no episode runs: Reset comes first") }
