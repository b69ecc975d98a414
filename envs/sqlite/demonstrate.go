package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// demonstrate plays the reference of a warm-up task that is drawn by the seed.
//
// A policy that is shown the same few tasks again and again learns them by heart, and not that the order of the question is the
// one to ask for. So a task names what may vary in it, such as an order's number, and each demonstration of it has other digits
// and letters there: in the goal, the rows and the reference alike. What an eval task has is never drawn.
func (w *world) demonstrate(ctx context.Context, seed uint64) (rl.Demonstration, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	all := w.tasks[rl.WarmUp]
	t := all[rng.IntN(len(all))]
	for range mostDraws { // a drawn name may be one that the task has already
		other, err := w.varied(t, rng)
		if err != nil {
			continue
		}
		if d, err := w.show(ctx, other); err == nil {
			return d, nil
		}
	}
	return w.show(ctx, t)
}

// mostDraws is how often a task is varied, and a name drawn, before that is given up.
const mostDraws = 10

// varied is a task under other names.
func (w *world) varied(t *task, rng *rand.Rand) (*task, error) {
	if len(t.Vary) == 0 {
		return t, nil
	}
	var names []string
	for _, v := range t.Vary {
		other, err := w.other(v, rng)
		if err != nil {
			return nil, err
		}
		names = append(names, v, other)
	}
	return t.renamed(strings.NewReplacer(names...))
}

// other draws a name that no eval task has.
func (w *world) other(name string, rng *rand.Rand) (string, error) {
	for range mostDraws {
		if other := otherName(name, rng); !w.held[other] {
			return other, nil
		}
	}
	return "", fmt.Errorf("vary: %q: eval tasks have the others like it", name)
}

// renamed is what is shown of a task, with names in it replaced: in what it says, not in how it says it. The error is a number that
// would be none.
func (t *task) renamed(names *strings.Replacer) (*task, error) {
	out := &task{Split: t.Split, Kind: t.Kind, Goal: names.Replace(t.Goal), index: t.index, line: t.line}
	for _, r := range t.Seed {
		values := make([]any, len(r.values))
		for i, v := range r.values {
			raw, err := renamed(rl.CanonicalJSON(plain(v)), names)
			if err != nil {
				return nil, err
			}
			if values[i], err = value(raw); err != nil {
				return nil, err
			}
		}
		out.Seed = append(out.Seed, seedRow{table: r.table, columns: r.columns, values: values})
	}
	for _, c := range t.Reference {
		arguments, err := renamed(c.Arguments, names)
		if err != nil {
			return nil, err
		}
		out.Reference = append(out.Reference, call{c.Tool, arguments})
	}
	return out, nil
}

// renamed replaces names in the texts and numbers of JSON, not in its keys.
func renamed(raw json.RawMessage, names *strings.Replacer) (json.RawMessage, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var replace func(v any) any
	var wrong error
	replace = func(v any) any {
		switch v := v.(type) {
		case string:
			return names.Replace(v)
		case json.Number:
			n := names.Replace(string(v))
			if !json.Valid([]byte(n)) {
				wrong = fmt.Errorf("vary: %s would be %s, which is no number", v, n)
				return v
			}
			return json.Number(n)
		case []any:
			for i := range v {
				v[i] = replace(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = replace(v[k])
			}
		}
		return v
	}
	v = replace(v)
	return rl.CanonicalJSON(v), wrong
}

// heldOut are the words of the facts of eval tasks.
func heldOut(eval []*task) map[string]bool {
	held := map[string]bool{}
	for _, t := range eval {
		for _, f := range t.Facts {
			for word := range strings.FieldsFuncSeq(f, func(r rune) bool { return !varies(string(r)) }) {
				held[word] = true
			}
		}
	}
	return held
}

// varies reports whether a name can be another: it is made of letters and digits.
func varies(name string) bool {
	return name != "" && strings.Trim(name, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// otherName has other digits in the place of digits, and other small letters in the place of those.
func otherName(name string, rng *rand.Rand) string {
	b := []byte(name)
	for i, c := range b {
		if c >= 'a' {
			b[i] = 'a' + byte(rng.IntN(26))
		} else {
			b[i] = '0' + byte(rng.IntN(10))
		}
	}
	return string(b)
}

// show plays the reference of a task. The error is the environment's.
func (w *world) show(ctx context.Context, t *task) (rl.Demonstration, error) {
	e := &env{world: w}
	defer e.Close()
	d := rl.Demonstration{}
	if err := e.begin(ctx, t); err != nil {
		return d, err
	}
	e.task = t
	add := func(m rl.Message) {
		d.Messages, d.Imitate = append(d.Messages, m), append(d.Imitate, m.Role == rl.Assistant)
	}
	if w.spec.System != "" {
		add(rl.Message{Role: rl.System, Content: w.spec.System})
	}
	add(rl.Message{Role: rl.User, Content: t.Goal})
	for n := range t.Reference {
		action := t.play(n)
		add(action)
		call := rl.ToolCall{Name: envs.FinalText, Arguments: rl.CanonicalJSON(action.Content)}
		if len(action.ToolCalls) > 0 {
			call = action.ToolCalls[0]
		}
		r, err := e.Step(ctx, envs.Call{ToolCall: call})
		if err != nil || r.Done {
			return d, err
		}
		add(rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: call.ID})
	}
	return d, nil
}
