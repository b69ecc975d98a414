package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
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

func (e *env) Step(ctx context.Context, call envs.Call) (envs.Result, error) {
	if err := e.running(); err != nil {
		return envs.Result{}, err
	}
	if e.ended {
		return envs.Result{Content: "closed", Done: true}, nil
	}
	if call.Name == envs.FinalText && e.world.final != nil {
		return e.answer(ctx, call)
	}
	t, ok := e.world.tools[call.Name]
	if !ok {
		return envs.Result{Content: fmt.Sprintf("bad call: there is no tool %.64q", call.Name)}, nil
	}
	if wrong := t.Check(call.Arguments); wrong != "" {
		return envs.Result{Content: "bad call: " + wrong}, nil
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(call.Arguments, &given); err != nil {
		return envs.Result{Content: "bad call: the arguments are not JSON"}, nil
	}
	arguments := map[string]any{}
	for name, raw := range given {
		v, err := value(raw)
		if err != nil {
			return envs.Result{Content: fmt.Sprintf("bad call: %q: %v", name, err)}, nil
		}
		if text, ok := v.(string); ok && t.timely && strings.EqualFold(text, "now") {
			return envs.Result{Content: fmt.Sprintf("bad call: %q: write the day, not %q", name, text)}, nil
		}
		arguments[name] = v
	}
	return e.call(ctx, t, arguments)
}

// answer takes the message that ends an episode.
func (e *env) answer(ctx context.Context, call envs.Call) (envs.Result, error) {
	var text string
	if err := json.Unmarshal(call.Arguments, &text); err != nil {
		return envs.Result{Content: "bad call: the final answer is no text"}, nil
	}
	r, err := e.call(ctx, e.world.final, map[string]any{"text": text})
	e.ended, r.Done = err == nil, true
	return r, err
}

// call runs a tool in one transaction: all of it has happened, or nothing.
func (e *env) call(ctx context.Context, t *tool, arguments map[string]any) (envs.Result, error) {
	content, found, err := e.run(ctx, t, arguments)
	if words, refused := refusal(err); refused {
		return envs.Result{Content: "error: " + words}, nil
	}
	if err != nil {
		return envs.Result{}, e.broken(t.Name, err)
	}
	e.ended = t.ends && found
	return envs.Result{Content: content, Done: e.ended}, nil
}

func (e *env) run(ctx context.Context, t *tool, arguments map[string]any) (content string, found bool, err error) {
	if t.Effect != envs.Pure {
		if err := e.data.do(ctx, "BEGIN"); err != nil {
			return "", false, err
		}
		defer func() {
			if err == nil {
				err = e.data.do(ctx, "COMMIT")
			}
			if err != nil {
				_ = e.data.do(context.WithoutCancel(ctx), "ROLLBACK") // a trigger may have rolled back already
			}
		}()
	}
	for _, s := range t.statements {
		if content, found, err = e.execute(ctx, s, arguments, t.none); err != nil {
			return "", false, err
		}
	}
	return content, found, nil
}

// execute runs one statement and says what it gave; found is false when that is no row.
func (e *env) execute(ctx context.Context, s statement, arguments map[string]any, none string) (string, bool, error) {
	named := make([]any, len(s.parameters))
	for i, p := range s.parameters {
		named[i] = sql.Named(p, arguments[p])
	}
	if !s.rows {
		r, err := e.data.conn.ExecContext(ctx, s.sql, named...)
		if err != nil {
			return "", false, err
		}
		n, err := r.RowsAffected()
		if n == 0 {
			return none, false, err
		}
		return "done", true, err
	}
	columns, rows, err := e.data.rows(ctx, s.sql, named...)
	if err != nil || len(rows) == 0 {
		return none, false, err
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = shown(columns, row)
	}
	return strings.Join(lines, "\n"), true, nil
}

func (e *env) Score(ctx context.Context) (rl.Score, error) {
	if err := e.running(); err != nil {
		return rl.Score{}, err
	}
	return e.score(ctx, e.task)
}

// score holds the state against a task's checks: 1 when all of them hold, else 0.
func (e *env) score(ctx context.Context, t *task) (rl.Score, error) {
	var wrong []string
	for _, c := range t.Checks {
		_, rows, err := e.data.rows(ctx, c.SQL)
		var holds bool
		if err == nil {
			holds, err = truth(rows)
		}
		if err != nil {
			return rl.Score{}, e.broken("check "+c.Why, err)
		}
		if !holds {
			wrong = append(wrong, c.Why)
		}
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
