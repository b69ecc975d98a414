package envs

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// World is a family of tasks. Everything in it is a pure function of its arguments.
type World struct {
	Name string
	// New makes an Env that no episode runs in yet.
	New func() Env
	// Task makes the task of a split with an index of 0 or more. Ids are unique over all splits and can stand in a
	// path: they match rl.TaskID's form "split-index".
	Task func(split rl.Split, index int) rl.Task
	// Count is how many tasks a split has, which are those with indices below it. Nil: any number.
	Count func(split rl.Split) int
	// Digest is the SHA-256 in hex of the files that the world is made of. A run keeps to the one that it began with. Empty: the
	// world is made of this binary alone.
	Digest string
	// Facts lists what could be memorised about a task. No fact of an eval task is one of a train or warm-up task.
	Facts func(task rl.Task) []string
	// Reference is a player that earns full reward on a task. It sees the messages of the episode, as a policy
	// would, and returns the next action; it proves that the task can be solved and that the scorer knows.
	Reference func(task rl.Task) func([]rl.Message) rl.Message
	// Rubric says what makes an attempt at a task good, to a judge that compares attempts. It may say what the agent is not
	// told. Nil: the task's own words are all there is to say.
	Rubric func(task rl.Task) string
	// Demonstrate makes a conversation on a warm-up task to imitate. Nil: the world has no warm-up. Errors are those of Env.
	Demonstrate func(ctx context.Context, seed uint64) (rl.Demonstration, error)
}

// Splits lists the splits that the world has tasks of.
func (w World) Splits() []rl.Split {
	if w.Demonstrate == nil {
		return []rl.Split{rl.Train, rl.Eval}
	}
	return []rl.Split{rl.Train, rl.Eval, rl.WarmUp}
}

// Evaluates reports whether the world has tasks to evaluate with. Error: Invalid at env.tasks.eval.
func (w World) Evaluates() error {
	if w.Count != nil && w.Count(rl.Eval) == 0 {
		return rl.Errorf(rl.Invalid, "env.tasks.eval", "%s has no such tasks, and nothing to evaluate with: write some, or set eval.every to 0", w.Name)
	}
	return nil
}

// WarmsUp reports whether the world has demonstrations to warm up on. Error: Invalid at warm_up.max.
func (w World) WarmsUp() error {
	if w.Demonstrate == nil {
		return rl.Errorf(rl.Invalid, "warm_up.max", "%s has no demonstrations, which are tasks of the split warm_up with references: write some, or set it to 0", w.Name)
	}
	return nil
}

// Brief gives a group what a judge should know of the world: the agent's tools, and the task's rubric.
func (w World) Brief(g *rl.Group) {
	for _, t := range w.New().Spec().Tools {
		g.Tools = append(g.Tools, t.Tool)
	}
	if w.Rubric != nil {
		g.Rubric = w.Rubric(g.Task)
	}
}

var worlds = map[string]World{}

// Register adds a world under a name that is not taken. It is called while packages are initialised.
func Register(w World) {
	if taken(w.Name) {
		panic("envs: two environments are called " + w.Name)
	}
	worlds[w.Name] = w
}

// Get finds a registered world by its name; the error is of kind Invalid and lists the names.
func Get(name string) (World, error) {
	w, ok := worlds[name]
	if !ok {
		return World{}, rl.Errorf(rl.Invalid, "env.use", "%q is not one of %s", name, strings.Join(Names(), ", "))
	}
	return w, nil
}

// Names lists what env.use may be, registered worlds and kinds, sorted.
func Names() []string {
	names := slices.AppendSeq(Worlds(), maps.Keys(kinds))
	slices.Sort(names)
	return names
}

// Worlds lists the registered worlds, sorted.
func Worlds() []string { return slices.Sorted(maps.Keys(worlds)) }
