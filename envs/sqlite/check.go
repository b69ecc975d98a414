package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// check holds every task against the schema and the tools: its rows can be inserted, its checks only read, and its reference calls
// tools. A task whose checks all hold before anything was done would teach to do nothing.
func (w *world) check(ctx context.Context) error {
	e := &env{world: w}
	defer e.Close()
	for _, split := range []rl.Split{rl.Train, rl.Eval, rl.WarmUp} {
		for _, t := range w.tasks[split] {
			if err := within(ctx, func(ctx context.Context) error { return e.check(ctx, t) }); err != nil {
				return fmt.Errorf("tasks.jsonl:%d: %w", t.line, err)
			}
		}
	}
	return nil
}

// patience is how long a statement of the schema may take, and the beginning and the checks of a task. SQL can go on for ever.
var patience = time.Minute

// within does what a world is opened by, in the time that there is for it.
func within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it takes longer than %v", patience))
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil {
		return context.Cause(limited)
	}
	return err
}

func (e *env) check(ctx context.Context, t *task) error {
	if err := e.begin(ctx, t); err != nil {
		return err
	}
	for _, c := range t.Checks {
		if err := e.world.checks(ctx, c, e.data); err != nil {
			return fmt.Errorf("check %q: %w", c.Why, err)
		}
	}
	if err := e.world.plays(t); err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	if err := e.world.variable(t); err != nil {
		return err
	}
	s, err := e.score(ctx, t)
	if err == nil && s.Value == 1 {
		err = errors.New("its checks hold before anything was done: doing nothing would earn full reward")
	}
	return err
}

// variable reports whether a task can be shown under other names.
func (w *world) variable(t *task) (err error) {
	rng := rand.New(rand.NewPCG(0, 0))
	for range mostDraws {
		if _, err = w.varied(t, rng); err == nil {
			return nil
		}
	}
	return err
}

func (w *world) checks(ctx context.Context, c check, d *database) error {
	if c.Why == "" {
		return errors.New("it needs a why: what is wrong when it does not hold")
	}
	statements, err := split("sql", c.SQL, 1)
	if err != nil {
		return err
	}
	if len(statements) != 1 || len(statements[0].parameters) > 0 {
		return errors.New("expected one SELECT without parameters")
	}
	if wrong := statements[0].allowed(may.pure); wrong != "" {
		return errors.New(wrong)
	}
	w.timely = w.timely || statements[0].timely()
	columns, writes, err := d.explain(ctx, c.SQL)
	if err == nil && (writes || columns != 1) {
		err = errors.New("expected a SELECT of one column")
	}
	return err
}

// plays reports whether a reference calls tools that there are, with arguments that they take.
func (w *world) plays(t *task) error {
	for i, c := range t.Reference {
		tool := w.tools[c.Tool]
		if c.Tool == envs.FinalText {
			tool = w.final
		}
		if tool == nil {
			return fmt.Errorf("call %d: there is no tool %q", i+1, c.Tool)
		}
		if wrong := tool.Check(c.Arguments); wrong != "" {
			return fmt.Errorf("call %d: %s", i+1, wrong)
		}
	}
	return nil
}
