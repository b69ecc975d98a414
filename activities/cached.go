package activities

import (
	"context"
	"errors"
)

// cacheLimit is how many entries a cache of this package holds before it starts again empty: tasks of updates
// come and go, and an entry is quickly read anew.
const cacheLimit = 64

// making is an entry of a cache: a value, once done is closed.
type making[V any] struct {
	done chan struct{}
	v    V
	err  error
}

var errUnmade = errors.New("its making panicked")

// cached returns m[key], made by get when absent. What is made (a connection, a parsed object) is worth making once:
// whoever asks for it meanwhile waits, those who ask for other keys do not. A failure is shared by those who waited for
// it, unless it is only that the maker's own caller went away.
func cached[V any](ctx context.Context, a *Activities, m *map[string]*making[V], key string, get func() (V, error)) (V, error) {
	for {
		a.mu.Lock()
		e, found := (*m)[key]
		if !found {
			if *m == nil || len(*m) >= cacheLimit {
				*m = map[string]*making[V]{}
			}
			e = &making[V]{done: make(chan struct{}), err: errUnmade}
			(*m)[key] = e
		}
		a.mu.Unlock()
		if !found {
			fill(a, m, key, e, get)
			return e.v, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return e.v, ctx.Err()
		}
		if !errors.Is(e.err, context.Canceled) || ctx.Err() != nil {
			return e.v, e.err
		}
	}
}

// fill makes one entry, and forgets it when that fails.
func fill[V any](a *Activities, m *map[string]*making[V], key string, e *making[V], get func() (V, error)) {
	defer close(e.done)
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if e.err != nil && (*m)[key] == e {
			delete(*m, key)
		}
	}()
	e.v, e.err = get()
}
