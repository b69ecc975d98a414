package main

import (
	"context"
	"os"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// The test binary has one more environment: the order desk, whose track_box is out for training tasks with an odd index while the
// file that FLAKY names exists. If there is anything in that file, no call of member 5 returns in time for every fourth task.
func init() {
	desk, err := envs.Get("orders")
	if err != nil {
		panic(err)
	}
	named := func(t rl.Task) rl.Task { t.Env = "flaky"; return t }
	envs.Register(envs.World{
		Name: "flaky", New: func() envs.Env { return &flaky{Env: desk.New()} },
		Task:        func(s rl.Split, i int) rl.Task { return named(desk.Task(s, i)) },
		Demonstrate: desk.Demonstrate,
	})
}

type flaky struct {
	envs.Env
	odd, fourth bool
}

func (f *flaky) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	f.odd, f.fourth = task.Index%2 == 1 && task.Split == rl.Train, task.Index%4 == 2 && task.Split == rl.Train
	task.Env = "orders"
	return f.Env.Reset(ctx, task)
}

func (f *flaky) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	out, err := os.ReadFile(os.Getenv("FLAKY"))
	switch {
	case err != nil:
	case f.odd && strings.HasPrefix(call.Name, "track"):
		return envs.Result{}, rl.Errorf(rl.Unavailable, "environment flaky", "%s: the warehouse does not answer", call.Name)
	case len(out) > 0 && f.fourth && strings.Split(call.Key, "/")[3] == "5":
		<-ctx.Done()
		return envs.Result{}, ctx.Err()
	}
	return f.Env.Step(ctx, call)
}
