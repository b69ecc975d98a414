package envs

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// Kind is a kind of environment that run.yaml describes: which tasks and tools its world has follows from env.NAME, such as
// the command of a server.
type Kind struct {
	Name string
	// Open makes the world of a configuration, of which it is given what env.NAME says. What it starts belongs to the world and lasts
	// as long as the process. An error is Invalid or Refused at the key of env that is at fault, or Unavailable.
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

// opened are the worlds of kinds that this process has opened, by configuration, or is opening: episodes of a run share one, and with
// it what it has started. One that could not be opened is not among them.
var opened = struct {
	sync.Mutex
	worlds map[string]*opening
}{worlds: map[string]*opening{}}

// opening is a world that is being opened until done is closed.
type opening struct {
	done  chan struct{}
	world World
	err   error
}

// Open is the world of a configuration, which has all tasks that the configuration asks for, or none to evaluate with: see Evaluates.
// Whoever asks while it is being opened waits for that, and shares its error. Errors: Invalid at a key of env, those of the kind, and
// Unavailable when ctx ends first; the world is then opened all the same, for whoever comes next.
func Open(ctx context.Context, c rl.EnvConfig) (World, error) {
	kind, ok := kinds[c.Use]
	if !ok {
		w, err := Get(c.Use)
		if err != nil {
			return World{}, err
		}
		return w, w.holds(c.Tasks)
	}
	o, err := kind.opening(c)
	if err != nil {
		return World{}, err
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return World{}, rl.Errorf(rl.Unavailable, "environment "+c.Use, "it is being opened: %w", context.Cause(ctx))
	}
	if o.err != nil {
		return World{}, o.err
	}
	return o.world, o.world.holds(c.Tasks)
}

// opening is the world of a configuration, opened or on its way. What the rollout keeps to is no part of it.
func (k Kind) opening(c rl.EnvConfig) (*opening, error) {
	c.Tasks, c.MaxTurns, c.EpisodeTimeout, c.TurnTimeout = rl.TasksConfig{}, 0, 0, 0
	b, err := json.Marshal(c)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "env", "%w", err)
	}
	key := string(b)
	opened.Lock()
	defer opened.Unlock()
	if o, ok := opened.worlds[key]; ok {
		return o, nil
	}
	o := &opening{done: make(chan struct{})}
	opened.worlds[key] = o
	go func() {
		defer close(o.done)
		if o.world, o.err = k.open(c); o.err != nil {
			opened.Lock()
			defer opened.Unlock()
			delete(opened.worlds, key)
		}
	}()
	return o, nil
}

// open is Open, which may panic.
func (k Kind) open(c rl.EnvConfig) (w World, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = rl.Errorf(rl.Unavailable, "environment "+k.Name, "opening it panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return k.Open(c)
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
			has := fmt.Sprintf("%d such tasks: 0-%d", n, n-1)
			if n == 0 {
				has = "no such task"
			}
			return rl.Errorf(rl.Invalid, "env.tasks."+string(r.split), "%d-%d, but %s has %s", r.tasks.First, r.tasks.Last, w.Name, has)
		}
	}
	return nil
}
