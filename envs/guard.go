package envs

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Guard makes an Env keep its word whatever is inside: a method that panics gives an error, and one that does not return
// soon after its context has ended is left behind with an error. An Env that was left behind is of no further use.
func Guard(env Env, name string) Env { return &guard{env: env, at: "environment " + name} }

// grace is how long a method may go on after its context has ended, and how long Close may take.
const grace = 5 * time.Second

type guard struct {
	env  Env
	at   string
	left bool // a method is still running somewhere
}

func (g *guard) Spec() Spec { return g.env.Spec() }

func (g *guard) Reset(ctx context.Context, task rl.Task) (rl.Observation, error) {
	return guarded(ctx, g, "Reset", func() (rl.Observation, error) { return g.env.Reset(ctx, task) })
}

func (g *guard) Step(ctx context.Context, call Call) (Result, error) {
	return guarded(ctx, g, call.Name, func() (Result, error) { return g.env.Step(ctx, call) })
}

func (g *guard) Snapshot(ctx context.Context) ([]byte, error) {
	return guarded(ctx, g, "Snapshot", func() ([]byte, error) { return g.env.Snapshot(ctx) })
}

func (g *guard) Restore(ctx context.Context, snapshot []byte) error {
	_, err := guarded(ctx, g, "Restore", func() (struct{}, error) { return struct{}{}, g.env.Restore(ctx, snapshot) })
	return err
}

func (g *guard) Score(ctx context.Context) (rl.Score, error) {
	return guarded(ctx, g, "Score", func() (rl.Score, error) { return g.env.Score(ctx) })
}

// Close closes the Env also while a method that was left behind still runs: it may be what ends it.
func (g *guard) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.left = false
	_, err := guarded(ctx, g, "Close", func() (struct{}, error) { return struct{}{}, g.env.Close() })
	return err
}

// guarded runs a method. Its own error passes as it is.
func guarded[T any](ctx context.Context, g *guard, method string, f func() (T, error)) (v T, err error) {
	if g.left {
		return v, rl.Errorf(rl.Unavailable, g.at, "%s: an earlier call has not returned yet", method)
	}
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = rl.Errorf(rl.Unavailable, g.at, "%s panicked: %v\n%s", method, p, debug.Stack())
			}
			done <- o
		}()
		o.v, o.err = f()
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.v, o.err
	case <-late.C:
		g.left = true
		return v, rl.Errorf(rl.Unavailable, g.at, "%s has not returned %s after its deadline and is left behind: %w", method, grace, context.Cause(ctx))
	}
}
