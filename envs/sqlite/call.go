package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
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
	if wrong := e.world.spec.Refuses(call.ToolCall); wrong != "" {
		return envs.Result{Content: wrong}, nil
	}
	arguments, wrong := e.world.bound(call.Arguments)
	if wrong != "" {
		return envs.Result{Content: "bad call: " + wrong}, nil
	}
	return e.call(ctx, e.world.tools[call.Name], arguments)
}

// bound are the arguments of a call as SQL has them, or what is wrong with them, in words for the model.
func (w *world) bound(arguments json.RawMessage) (bound map[string]any, wrong string) {
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
		if text, ok := v.(string); ok && w.timely && readsClock(text) {
			return nil, fmt.Sprintf("%q: write the day, not %.40q", name, text)
		}
		bound[name] = v
	}
	return bound, ""
}

// readsClock reports whether a text, or one in it where it is JSON, would be the clock or a time zone to a function of time. Of a
// longer text only a tool could make that, by cutting it out.
func readsClock(text string) bool {
	switch strings.ToLower(strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })) {
	case "now", "localtime", "utc":
		return true
	}
	var inside any
	return strings.ContainsAny(text, `["{`) && json.Unmarshal([]byte(text), &inside) == nil && anyClock(inside)
}

func anyClock(v any) bool {
	switch v := v.(type) {
	case string:
		return readsClock(v)
	case []any:
		return slices.ContainsFunc(v, anyClock)
	case map[string]any:
		for key, value := range v {
			if readsClock(key) || anyClock(value) {
				return true
			}
		}
	}
	return false
}

// answer takes the message that ends an episode: it does also when the world refuses it.
func (e *env) answer(ctx context.Context, call envs.Call) (envs.Result, error) {
	var text string
	if err := json.Unmarshal(call.Arguments, &text); err != nil {
		return envs.Result{Content: "bad call: the final answer is no text"}, nil
	}
	arguments, wrong := e.world.bound(rl.CanonicalJSON(map[string]string{"text": text}))
	if wrong != "" {
		e.ended = true
		return envs.Result{Content: "bad call: " + wrong, Done: true}, nil
	}
	r, err := e.call(ctx, e.world.final, arguments)
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
			return "", false, fmt.Errorf("BEGIN: %v", err) // no doing of the call's
		}
		defer func() {
			if err == nil {
				err = e.data.commit(ctx)
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
