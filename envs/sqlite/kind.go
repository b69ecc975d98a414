package sqlite

import (
	"context"
	"io/fs"
	"os"

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
		out.Demonstrate = w.demonstrate
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
