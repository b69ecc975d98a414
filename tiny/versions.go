package tiny

import (
	"context"
	"slices"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// keptVersions is how many policy versions stay loaded: the one that trains, the one before it, and those of an
// evaluation or a comparison.
const keptVersions = 4

// versions loads policy versions when they are first asked for, each once however many ask, and forgets the one
// that was not asked for longest.
type versions struct {
	load   func(context.Context, rl.Version) (*nn.Model, error)
	ctx    context.Context // of loads: one that several wait for does not end with the first of them
	forgot func(*nn.Model)

	mu     sync.Mutex
	recent []*version // most recently used first
}

type version struct {
	name  rl.Version
	ready chan struct{} // closed when model or err is there
	model *nn.Model
	err   error
}

// get gives the model of a version. Errors are load's, which are not remembered, or ctx's.
func (v *versions) get(ctx context.Context, name rl.Version) (*nn.Model, error) {
	e := v.entry(name)
	select {
	case <-e.ready:
		return e.model, e.err
	default:
	}
	select {
	case <-e.ready:
		return e.model, e.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (v *versions) entry(name rl.Version) *version {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.recent, func(e *version) bool { return e.name == name })
	if at >= 0 {
		e := v.recent[at]
		copy(v.recent[1:at+1], v.recent[:at])
		v.recent[0] = e
		return e
	}
	e := &version{name: name, ready: make(chan struct{})}
	v.recent = slices.Insert(v.recent, 0, e)
	for len(v.recent) > keptVersions {
		v.drop(v.recent[len(v.recent)-1])
	}
	go v.fill(e)
	return e
}

func (v *versions) fill(e *version) {
	e.model, e.err = v.load(v.ctx, e.name)
	if e.err == nil && e.model.V != Vocab {
		e.model, e.err = nil, rl.Errorf(rl.Invalid, "policy "+string(e.name), "%w", shape(e.model.Config))
	}
	v.mu.Lock() // nobody sees a version that failed among those that answer
	defer v.mu.Unlock()
	close(e.ready)
	if e.err != nil {
		v.drop(e)
	}
}

// drop forgets a version; requests that hold its model go on. mu is held.
func (v *versions) drop(e *version) {
	v.recent = slices.DeleteFunc(v.recent, func(x *version) bool { return x == e })
	select {
	case <-e.ready:
		v.forgot(e.model)
	default:
	}
}

// loaded lists the versions that answer at once, sorted.
func (v *versions) loaded() (names []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.recent {
		select {
		case <-e.ready:
			names = append(names, string(e.name))
		default:
		}
	}
	slices.Sort(names)
	return names
}
