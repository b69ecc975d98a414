package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// env is an episode of a world: a database in memory.
type env struct {
	world *world
	data  *database // nil: none is open
	task  *task     // nil: no episode runs
	ended bool
	first []uint64 // the pages of the database in which the task begins, hashed: what differs is what the episode has changed
}

func (e *env) Spec() envs.Spec { return e.world.spec }

func (e *env) Reset(ctx context.Context, asked rl.Task) (rl.Observation, error) {
	e.task = nil
	t := e.world.find(asked.Split, asked.Index)
	if t == nil || t.is(e.world.name) != asked {
		return rl.Observation{}, rl.Errorf(rl.Invalid, e.at(), "%+v is not a task of this world", asked)
	}
	first, err := e.beginning(ctx, t)
	if err != nil {
		return rl.Observation{}, e.broken("the task's beginning", err)
	}
	e.task, e.ended, e.first = t, false, hashed(first)
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: t.Goal}}}, nil
}

// begin makes the database as it is when the task begins.
func (e *env) begin(ctx context.Context, t *task) (err error) {
	if e.data == nil {
		if e.data, err = openDatabase(ctx); err != nil {
			return err
		}
	}
	if err := e.data.become(ctx, e.world.image); err != nil {
		return err
	}
	return t.Seed.into(ctx, e.data)
}

// beginning is that database as bytes.
func (e *env) beginning(ctx context.Context, t *task) ([]byte, error) {
	if err := e.begin(ctx, t); err != nil {
		return nil, err
	}
	return e.data.image()
}

// into adds the rows.
func (s seed) into(ctx context.Context, d *database) error {
	for _, r := range s {
		if err := d.do(ctx, r.insert(), r.values...); err != nil {
			return fmt.Errorf("seed row of %s: %w", r.table, err)
		}
	}
	return nil
}

func (e *env) Score(ctx context.Context) (rl.Score, error) {
	if err := e.running(); err != nil {
		return rl.Score{}, err
	}
	return e.score(ctx, e.task)
}

// score holds the state against a task's checks: 1 when all of them hold, else 0. A check that does not suit the state, with more
// than one row, a text, or an error of SQL, does not hold: what the agent did led there, and it must not be a way out of a score.
func (e *env) score(ctx context.Context, t *task) (rl.Score, error) {
	var wrong []string
	for _, c := range t.Checks {
		_, rows, err := e.data.rows(ctx, c.SQL)
		words, refused := refusal(err)
		if err != nil && !refused {
			return rl.Score{}, e.broken("check "+c.Why, err)
		}
		if err == nil {
			var holds bool
			if holds, err = truth(rows); holds {
				continue
			}
			if err != nil {
				words = err.Error()
			}
		}
		if words != "" {
			words = " (" + words + ")"
		}
		wrong = append(wrong, c.Why+words)
	}
	s := rl.Score{Reason: strings.Join(wrong, "; "), Metrics: map[string]float64{"checks_fraction": 1 - float64(len(wrong))/float64(len(t.Checks))}}
	if len(wrong) == 0 {
		s.Value, s.Reason = 1, "all checks hold"
	}
	return s, nil
}

func (e *env) Close() error {
	e.task = nil
	if e.data == nil {
		return nil
	}
	d := e.data
	e.data = nil
	return d.close()
}

func (e *env) at() string { return "environment " + e.world.name }

func (e *env) running() error {
	if e.task == nil {
		return rl.Errorf(rl.Invalid, e.at(), "no episode runs: Reset comes first")
	}
	return nil
}

// broken is an error of ours.
func (e *env) broken(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return rl.Errorf(rl.Unavailable, e.at(), "%s: %w", what, err)
	}
	if _, ok := refusal(err); ok { // SQL that does not suit the state, outside a call
		return rl.Errorf(rl.Invalid, e.at(), "%s: %w", what, err)
	}
	return rl.Errorf(rl.Unavailable, e.at(), "%s: %w", what, err)
}
