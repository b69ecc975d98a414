package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
)

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
	arguments, wrong := t.bound(call.Arguments)
	if wrong != "" {
		return envs.Result{Content: "bad call: " + wrong}, nil
	}
	return e.call(ctx, t, arguments)
}

// bound are the arguments of a call as SQL has them, or what is wrong with them, in words for the model.
func (t *tool) bound(arguments json.RawMessage) (bound map[string]any, wrong string) {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, "the arguments are not JSON"
	}
	bound = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v, err := value(given[name])
		if err != nil {
			return nil, fmt.Sprintf("%q: %v", name, err)
		}
		if text, ok := v.(string); ok && t.timely && strings.EqualFold(text, "now") {
			return nil, fmt.Sprintf("%q: write the day, not %q", name, text)
		}
		bound[name] = v
	}
	return bound, ""
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
