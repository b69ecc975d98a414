package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func init() { envs.RegisterKind(envs.Kind{Name: "process", Open: open}) }

// world is a program that has said hello.
type world struct {
	hello hello
	spec  envs.Spec
	pool  *pool
}

// open starts the first program, which says what its world has. Errors: Invalid where every start would end so, and Unavailable.
func open(c rl.EnvConfig) (envs.World, error) {
	first, said, err := greeted(c.Process)
	if e, ok := errors.AsType[*rl.Error](err); ok && e.At == at {
		err = rl.Errorf(rl.Unavailable, at, "env.process.command: %w", e.Err)
		if _, lasting := errors.AsType[mistake](err); lasting {
			err = rl.Errorf(rl.Invalid, "env.process.command", "%w", e.Err)
		}
	}
	if err != nil {
		return envs.World{}, err
	}
	if n := said.Episodes; n > 0 && c.Process.Episodes > n {
		first.stop()
		return envs.World{}, rl.Errorf(rl.Invalid, "env.process.episodes", "%d, but %s takes at most %d episodes at once", c.Process.Episodes, said.Name, n)
	}
	w := &world{hello: said, spec: said.spec()}
	w.pool = newPool(c.Process.Processes, c.Process.Episodes, first, func() (*program, error) { return w.another(c.Process) })
	return w.asWorld(), nil
}

func (w *world) asWorld() envs.World {
	out := envs.World{
		Name: "process", Digest: w.hello.digest(), Task: w.task, Count: w.Count,
		New:   func() envs.Env { return &env{world: w} },
		Facts: func(t rl.Task) []string { return []string{string(t.ID)} },
	}
	if w.hello.Reference {
		out.Reference = w.reference
	}
	if w.Count(rl.WarmUp) > 0 {
		out.Demonstrate = w.demonstrate
	}
	return out
}

func (w *world) task(split rl.Split, index int) rl.Task {
	return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: "process", Split: split, Index: index}
}

// Count is how many tasks of a split the program has.
func (w *world) Count(split rl.Split) int { return w.hello.Tasks[split] }

func taskOf(split rl.Split, index int) *task {
	return &task{Split: split, Index: index, Seed: rl.Seed(0, "process", split, index)}
}

// another starts a further program, which has to be the same as the first.
func (w *world) another(c rl.ProcessConfig) (*program, error) {
	next, said, err := greeted(c)
	if err != nil {
		return nil, err
	}
	if said.digest() != w.hello.digest() {
		next.stop()
		return nil, rl.Errorf(rl.Conflict, "env.process", "%s says something else of itself than when it was first started: its files have changed; start another run", said.Name)
	}
	return next, nil
}

// greeted starts a program and hears its hello, for which it has env.process.start_timeout.
func greeted(c rl.ProcessConfig) (*program, hello, error) {
	var said hello
	environ, secrets, err := child.Environment("env.process.env", c.Env)
	if err != nil {
		return nil, said, err
	}
	p, err := start(c.Command, environ, envs.Log.With("environment", "process"), child.NewHider(secrets))
	if err != nil {
		return nil, said, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.StartTimeout))
	defer cancel()
	if err := p.ask(ctx, request{Do: "hello", Protocol: Protocol}, &said); err != nil {
		p.kill(err)
		<-p.gone
		if errors.Is(err, ErrOverdue) {
			err = rl.Errorf(rl.Unavailable, at, "%w%s", errors.Unwrap(err), p.said.last())
		}
		return nil, said, err
	}
	return p, said, nil
}
