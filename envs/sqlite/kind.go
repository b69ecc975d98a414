package sqlite

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func init() {
	envs.RegisterKind(envs.Kind{Name: "sqlite", Open: func(c rl.EnvConfig) (envs.World, error) {
		if c.SQLite.Dir == "" {
			return envs.World{}, rl.Errorf(rl.Invalid, "env.sqlite.dir", "no directory is named")
		}
		return open("sqlite", "env.sqlite.dir", c.SQLite.Dir, os.DirFS(c.SQLite.Dir))
	}})
}

// open is the world of a directory, under a name.
func open(name, key, dir string, files fs.FS) (envs.World, error) {
	w, err := read(context.Background(), name, files)
	if err != nil {
		return envs.World{}, rl.Errorf(rl.Invalid, key, "%s: %w", dir, err)
	}
	out := envs.World{
		Name: name, Digest: w.digest,
		New:   func() envs.Env { return &env{world: w} },
		Task:  w.task,
		Count: func(s rl.Split) int { return len(w.tasks[s]) },
		Facts: func(t rl.Task) []string {
			if found := w.find(t.Split, t.Index); found != nil {
				return found.Facts
			}
			return nil
		},
		Reference: w.reference,
		Rubric: func(t rl.Task) string {
			if found := w.find(t.Split, t.Index); found != nil {
				return found.Rubric
			}
			return ""
		},
	}
	if len(w.tasks[rl.WarmUp]) > 0 {
		out.Demonstrate = w.demonstrations()
	}
	return out, nil
}

// task is a task by its place. One that there is not has a name all the same, and Reset refuses it.
func (w *world) task(split rl.Split, index int) rl.Task {
	if t := w.find(split, index); t != nil {
		return t.is(w.name)
	}
	return (&task{Split: split, index: index}).is(w.name)
}

// reference plays the calls that the task's line has, whatever they give.
func (w *world) reference(of rl.Task) func([]rl.Message) rl.Message {
	t := w.find(of.Split, of.Index)
	return func(messages []rl.Message) rl.Message {
		n := 0
		for _, m := range messages {
			if m.Role == rl.Assistant {
				n++
			}
		}
		if t == nil {
			return rl.Message{Role: rl.Assistant}
		}
		return t.play(n)
	}
}

// demonstrations are those of the warm-up tasks, each made when it is first asked for: an update shows the same ones again.
func (w *world) demonstrations() func(seed uint64) rl.Demonstration {
	made := make([]func() rl.Demonstration, len(w.tasks[rl.WarmUp]))
	for i, t := range w.tasks[rl.WarmUp] {
		made[i] = sync.OnceValue(func() rl.Demonstration { return w.demonstrate(t) })
	}
	return func(seed uint64) rl.Demonstration {
		return made[rand.New(rand.NewPCG(seed, 0)).IntN(len(made))]()
	}
}

// demonstrate plays the reference of a task.
func (w *world) demonstrate(t *task) rl.Demonstration {
	ctx, e := context.Background(), &env{world: w}
	defer e.Close()
	o, err := e.Reset(ctx, t.is(w.name))
	if err != nil {
		panic(err) // it was begun when the world was opened
	}
	d := rl.Demonstration{}
	add := func(m rl.Message) {
		d.Messages, d.Imitate = append(d.Messages, m), append(d.Imitate, m.Role == rl.Assistant)
	}
	if w.spec.System != "" {
		add(rl.Message{Role: rl.System, Content: w.spec.System})
	}
	add(o.Messages[0])
	for n := range t.Reference {
		action := t.play(n)
		add(action)
		call := rl.ToolCall{Name: envs.FinalText, Arguments: rl.CanonicalJSON(action.Content)}
		if len(action.ToolCalls) > 0 {
			call = action.ToolCalls[0]
		}
		r, err := e.Step(ctx, envs.Call{ToolCall: call})
		if err != nil {
			panic(err) // an episode runs
		}
		if r.Done {
			break
		}
		add(rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: call.ID})
	}
	return d
}
