package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// journals removes the segments of updates that are over and lie before the newest checkpoints that are kept, and of
// evaluations that are over: every turn in them is in a trajectory too, to which a run that falls back among those
// checkpoints returns. Where an episode failed they stay: of it there is no other record.
func (g *gc) journals(ctx context.Context, v *view) error {
	for _, r := range v.runs {
		if r.config == nil || !g.concerns(r.id) {
			continue
		}
		floor := g.floor(r)
		err := g.eachName(ctx, RunPrefix(r.id)+"updates/", func(name string) error {
			n, ok := numberOf(name + ".json")
			if !ok || n >= floor {
				return nil
			}
			return g.journal(ctx, JournalPrefix(r.id, n), func() (bool, error) { return g.updateOver(ctx, r.id, n) })
		})
		if err != nil {
			return err
		}
		prefix := RunPrefix(r.id) + "evals/"
		err = g.eachName(ctx, prefix, func(name string) error {
			return g.journal(ctx, prefix+name+"/journal/", func() (bool, error) {
				_, e, err := FindJSON[rl.Evaluation](ctx, g.store, prefix+name+"/evaluation.json")
				return len(e.Failed) == 0, err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// concerns reports whether a run's checkpoints and journals may go.
func (g *gc) concerns(run rl.RunID) bool { return len(g.Runs) == 0 || slices.Contains(g.Runs, run) }

// floor is the lowest update among the newest checkpoints that retention keeps; 0 without any.
func (g *gc) floor(r *heldRun) rl.UpdateNumber {
	h := held{parents: map[rl.UpdateNumber]rl.UpdateNumber{}}
	for n := range r.manifests {
		h.parents[n] = -1
	}
	newest := slices.Sorted(maps.Keys(Retention{Last: g.Retention(*r.config).Last}.keep(h)))
	if len(newest) == 0 {
		return 0
	}
	return newest[0]
}

// updateOver reports whether the batch of an update is recorded and none of its episodes failed.
func (g *gc) updateOver(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (bool, error) {
	if _, err := g.store.Head(ctx, BatchKey(run, n)); err != nil {
		return false, err
	}
	_, ledger, err := FindJSON[rl.Ledger](ctx, g.store, LedgerKey(run, n))
	for _, left := range []rl.LeftOut{rl.EnvFailed, rl.PolicyFailed, rl.StoreFailed, rl.Voided} {
		if ledger.LeftOut[left] > 0 {
			return false, err
		}
	}
	return err == nil, err
}

// journal removes the segments under a prefix, when over says so.
func (g *gc) journal(ctx context.Context, prefix string, over func() (bool, error)) error {
	var old []string
	var heap Heap
	for o, err := range g.store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if time.Since(o.Modified) >= g.Grace {
			old = append(old, o.Key)
			heap.add(o)
		}
	}
	if len(old) == 0 {
		return nil
	}
	ok, err := over()
	if !ok || err != nil {
		if damaged(err) { // not recorded yet
			return nil
		}
		return err
	}
	if err := g.remove(ctx, old); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.report.Freed.Journals.Objects += heap.Objects
	g.report.Freed.Journals.Bytes += heap.Bytes
	return nil
}

// eachName calls do for each directory directly under a prefix, a few at a time.
func (g *gc) eachName(ctx context.Context, prefix string, do func(name string) error) error {
	names, err := g.store.Names(ctx, prefix)
	if err != nil {
		return err
	}
	return each(len(names), readers, func(i int) error {
		if name, ok := strings.CutSuffix(names[i], "/"); ok {
			return do(name)
		}
		return nil
	})
}
