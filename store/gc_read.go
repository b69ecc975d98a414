package store

import (
	"context"
	"path"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// lookAtJobs reads every update job.
func (g *gc) lookAtJobs(ctx context.Context) ([]heldJob, error) {
	keys, err := g.store.keys(ctx, "jobs/")
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	var jobs []heldJob
	for _, key := range keys {
		id := path.Base(path.Dir(key))
		if _, seen := index[id]; !seen {
			index[id] = len(jobs)
			jobs = append(jobs, heldJob{id: id})
		}
	}
	var mu sync.Mutex
	err = each(len(keys), readers, func(i int) error {
		key := keys[i]
		j := &jobs[index[path.Base(path.Dir(key))]]
		switch path.Base(key) {
		case "spec.json":
			spec, err := remembered(g, key, func() (rl.UpdateSpec, error) {
				_, spec, err := FindJSON[rl.UpdateSpec](ctx, g.store, key)
				return spec, err
			})
			return keepIfThere(&mu, &j.spec, spec, err)
		case "result.json":
			result, err := remembered(g, key, func() (rl.UpdateResult, error) {
				_, result, err := FindJSON[rl.UpdateResult](ctx, g.store, key)
				return result, err
			})
			return keepIfThere(&mu, &j.result, result, err)
		}
		mu.Lock()
		defer mu.Unlock()
		j.rest = append(j.rest, key)
		return nil
	})
	return jobs, err
}

// keepIfThere sets a part of a job unless it has gone in between.
func keepIfThere[T any](mu *sync.Mutex, to **T, v T, err error) error {
	if err == nil {
		mu.Lock()
		*to = &v
		mu.Unlock()
	} else if rl.KindOf(err) == rl.NotFound {
		err = nil
	}
	return err
}

// gathered reads the objects directly under a prefix, a few at a time, by their keys. One that is gone by then is passed
// over.
func gathered[T any](ctx context.Context, g *gc, prefix string, read func(key, name string) (T, error)) (map[string]T, error) {
	names, err := g.store.Names(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := map[string]T{}
	var mu sync.Mutex
	return all, each(len(names), readers, func(i int) error {
		key := prefix + names[i]
		v, err := read(key, names[i])
		if rl.KindOf(err) == rl.NotFound {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		all[key] = v
		return err
	})
}

// remembered reads an immutable object once. Failures are not remembered.
func remembered[T any](g *gc, key string, read func() (T, error)) (T, error) {
	if v, ok := g.memory.Load(key); ok {
		return v.(T), nil
	}
	v, err := read()
	if err == nil {
		g.memory.Store(key, v)
	}
	return v, err
}
