package sqlite

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// demonstrate plays the reference of a warm-up task that is drawn by the seed.
//
// A policy that is shown the same few tasks again and again learns them by heart, and not that the order of the question is the
// one to ask for. So a task names what may vary in it, such as an order's number, and each demonstration of it has other digits
// and letters there: in the goal, the rows, the checks and the reference alike. What an eval task has is never drawn.
func (w *world) demonstrate(ctx context.Context, seed uint64) (rl.Demonstration, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	all := w.tasks[rl.WarmUp]
	t := all[rng.IntN(len(all))]
	for range 10 { // a drawn name may be one that the task has already
		if d, err := w.show(ctx, w.varied(t, rng)); err == nil {
			return d, nil
		}
	}
	return w.show(ctx, t)
}

// varied is a task under other names.
func (w *world) varied(t *task, rng *rand.Rand) *task {
	if len(t.Vary) == 0 {
		return t
	}
	var names []string
	for _, v := range t.Vary {
		other := otherName(v, rng)
		for w.heldOut(other) {
			other = otherName(v, rng)
		}
		names = append(names, v, other)
	}
	out := &task{}
	if err := json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(string(t.source))), out); err != nil {
		panic(err) // letters and digits in the place of letters and digits
	}
	out.index = t.index
	return out
}

// heldOut reports whether a name is in a fact of an eval task.
func (w *world) heldOut(name string) bool {
	return slices.ContainsFunc(w.tasks[rl.Eval], func(t *task) bool {
		return slices.ContainsFunc(t.Facts, func(f string) bool { return strings.Contains(f, name) })
	})
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
