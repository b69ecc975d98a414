package envs

import (
	"encoding/json"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// Kind is a kind of environment that run.yaml describes: which tasks and tools its world has follows from env.NAME, such as
// the command of a server.
type Kind struct {
	Name string
	// Open makes the world of a configuration. What it starts belongs to the world and lasts as long as the process. An error
	// is Invalid at the key of env that is at fault, or Unavailable at "environment NAME".
	Open func(c rl.EnvConfig) (World, error)
}

var kinds = map[string]Kind{}

// RegisterKind adds a kind under a name that no other kind and no world has. It is called while packages are initialised.
func RegisterKind(k Kind) {
	if taken(k.Name) {
		panic("envs: two environments are called " + k.Name)
	}
	kinds[k.Name] = k
}

func taken(name string) bool {
	_, world := worlds[name]
	_, kind := kinds[name]
	return world || kind
}

// opened are the worlds of kinds that this process has opened, by configuration: episodes of a run share one, and with it
// what it has started.
var opened struct {
	sync.Mutex
	worlds map[string]World
}

// Open is the world of a configuration, which has all tasks that the configuration asks for, or none to evaluate with: see Evaluates. Errors: Invalid at a key of env, and those
// of the kind.
func Open(c rl.EnvConfig) (World, error) {
	w, err := open(c)
	if err != nil {
		return World{}, err
	}
	return w, w.holds(c.Tasks)
}

func open(c rl.EnvConfig) (World, error) {
	kind, ok := kinds[c.Use]
	if !ok {
		return Get(c.Use)
	}
	told := c
	told.Tasks = rl.TasksConfig{}
	b, err := json.Marshal(told)
	if err != nil {
		return World{}, rl.Errorf(rl.Invalid, "env", "%w", err)
	}
	opened.Lock()
	defer opened.Unlock()
	if w, ok := opened.worlds[string(b)]; ok {
		return w, nil
	}
	w, err := kind.Open(told)
	if err != nil {
		return World{}, err
	}
	if opened.worlds == nil {
		opened.worlds = map[string]World{}
	}
	opened.worlds[string(b)] = w
	return w, nil
}

// holds reports whether a world has the tasks of both ranges.
func (w World) holds(tasks rl.TasksConfig) error {
	if w.Count == nil {
		return nil
	}
	for _, r := range []struct {
		split rl.Split
		tasks rl.TaskRange
	}{{rl.Train, tasks.Train}, {rl.Eval, tasks.Eval}} {
		if n := w.Count(r.split); r.tasks.Last >= n && !(r.split == rl.Eval && n == 0) {
			return rl.Errorf(rl.Invalid, "env.tasks."+string(r.split), "%d-%d, but %s has %d such tasks: 0-%d", r.tasks.First, r.tasks.Last, w.Name, n, n-1)
		}
	}
	return nil
}
