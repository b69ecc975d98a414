package envs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// rude is an environment that breaks its word.
type rude struct {
	Env
	step func()
}

func (r *rude) Step(context.Context, Call) (Result, error) {
	r.step()
	return Result{Content: "late"}, nil
}

func (r *rude) Close() error { return nil }

func TestGuardCatchesPanics(t *testing.T) {
	env := Guard(&rude{step: func() { panic("boom") }}, "rude")
	_, err := env.Step(t.Context(), Call{ToolCall: rl.ToolCall{Name: "tool"}})
	if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "environment rude: tool panicked: boom") {
		t.Fatal(err)
	}
}

// A method that never returns is left behind, and the environment is of no further use.
func TestGuardLeavesBehind(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	env := Guard(&rude{step: func() { <-release }}, "rude")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := env.Step(ctx, Call{ToolCall: rl.ToolCall{Name: "tool"}})
	if rl.KindOf(err) != rl.Unavailable || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "left behind") {
		t.Fatal(err)
	}
	if _, err := env.Snapshot(t.Context()); rl.KindOf(err) != rl.Unavailable {
		t.Fatal(err)
	}
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
}
