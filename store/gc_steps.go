package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// probeLife is after how long a probe of Check counts as left behind, at least.
const probeLife = time.Hour

// checkpoints removes the manifests that retention does not keep.
func (g *gc) checkpoints(ctx context.Context, v *view) error {
	going, said := g.plan(v)
	g.report.Runs = append(g.report.Runs, said...)
	removed, err := g.sweep(ctx, slices.Sorted(maps.Keys(going)), func(v *view) map[string]bool {
		still, _ := g.plan(v)
		return set(maps.Keys(still))
	}, func(ctx context.Context, key string) error {
		r := going[key]
		r.Time = time.Now().UTC().Truncate(time.Second)
		return g.store.retire(ctx, r)
	})
	g.report.Freed.Checkpoints = len(removed)
	for _, key := range removed {
		v.retire(going[key])
	}
	g.keepToWhatWent(removed, going)
	return err
}

// retire makes the view what it is once a manifest is gone.
func (v *view) retire(r rl.Retired) {
	for _, run := range v.runs {
		if n := r.Checkpoint.Update; run.id == r.Checkpoint.Run {
			delete(run.manifests, n)
			run.retired[n] = true
		}
	}
}

// keepToWhatWent puts those that something came to need in the last moment among the kept.
func (g *gc) keepToWhatWent(removed []string, going map[string]rl.Retired) {
	gone := map[rl.Version]bool{}
	for _, key := range removed {
		gone[going[key].Checkpoint.Version] = true
	}
	for i := range g.report.Runs {
		r := &g.report.Runs[i]
		r.Retired = slices.DeleteFunc(r.Retired, func(k KeptOrGone) bool {
			if gone[k.Version] {
				return false
			}
			r.Kept = append(r.Kept, KeptOrGone{k.Version, "something came to refer to it while gc ran"})
			return true
		})
	}
}

// jobs removes what is left of the jobs of retired updates, their specifications last: a job whose removal is interrupted
// can still be told by it.
func (g *gc) jobs(ctx context.Context, v *view) error {
	over := func(v *view) (records, specs map[string]bool) {
		records, specs = map[string]bool{}, map[string]bool{}
		for _, j := range v.jobs {
			if j.spec == nil || !v.isRetired(j.spec.Run, j.spec.Update) {
				continue
			}
			specs[JobSpecKey(j.id)] = true
			if j.result != nil {
				records[JobResultKey(j.id)] = true
			}
			for _, key := range j.rest {
				records[key] = true
			}
		}
		return records, specs
	}
	records, specs := over(v)
	if _, err := g.sweep(ctx, slices.Sorted(maps.Keys(records)), func(v *view) map[string]bool { r, _ := over(v); return r }, g.store.Delete); err != nil {
		return err
	}
	removed, err := g.sweep(ctx, slices.Sorted(maps.Keys(specs)), func(v *view) map[string]bool { _, s := over(v); return s }, g.store.Delete)
	g.report.Freed.Jobs = len(removed)
	v.jobs = slices.DeleteFunc(v.jobs, func(j heldJob) bool { return specs[JobSpecKey(j.id)] })
	return err
}

func (v *view) isRetired(run rl.RunID, n rl.UpdateNumber) bool {
	for _, r := range v.runs {
		if r.id == run {
			return r.retired[n]
		}
	}
	return false
}

// chunks removes those to which no manifest and no job's result refers.
func (g *gc) chunks(ctx context.Context, v *view) error {
	used := v.chunks()
	unused := map[string]Object{}
	before := time.Now().Add(-g.Grace)
	for o, err := range g.store.List(ctx, "cas/") {
		switch {
		case err != nil:
			return err
		case used[o.Key]:
		case o.Modified.After(before):
			g.report.Waiting.add(o)
		default:
			unused[o.Key] = o
		}
	}
	removed, err := g.sweep(ctx, slices.Sorted(maps.Keys(unused)), func(v *view) map[string]bool {
		used, may := v.chunks(), map[string]bool{}
		for key := range unused {
			may[key] = !used[key]
		}
		return may
	}, g.store.Delete)
	for _, key := range removed {
		g.report.Freed.Chunks.add(unused[key])
	}
	return err
}

// chunks are the keys to which something refers.
func (v *view) chunks() map[string]bool {
	used := map[string]bool{}
	use := func(files []rl.File) {
		for _, f := range files {
			for _, sum := range f.Chunks {
				used[ChunkKey(sum)] = true
			}
		}
	}
	for _, r := range v.runs {
		for _, m := range r.manifests {
			use(m.Files)
		}
	}
	for _, j := range v.jobs {
		if j.result != nil {
			use(j.result.Files)
		}
	}
	return used
}

// notes removes pins that ran out and probes that were left behind.
func (g *gc) notes(ctx context.Context, v *view) error {
	old := v.pins
	for o, err := range g.store.List(ctx, "check/") {
		if err != nil {
			return err
		}
		if time.Since(o.Modified) > max(g.Grace, probeLife) {
			old = append(old, o.Key)
		}
	}
	g.report.Freed.Notes = len(old)
	return g.remove(ctx, old)
}

// sweep removes keys that a fresh view still finds unneeded, and returns them; in a dry run it only returns them.
func (g *gc) sweep(ctx context.Context, keys []string, unneeded func(*view) map[string]bool, remove func(context.Context, string) error) ([]string, error) {
	if g.DryRun {
		return keys, nil
	}
	return g.sweeper.sweep(ctx, keys, func(ctx context.Context) (map[string]bool, error) {
		v, err := g.look(ctx)
		if err != nil {
			return nil, err
		}
		return unneeded(v), nil
	}, remove)
}

// remove removes objects that nobody can come to need.
func (g *gc) remove(ctx context.Context, keys []string) error {
	if g.DryRun {
		return nil
	}
	return each(len(keys), readers, func(i int) error { return g.store.Delete(ctx, keys[i]) })
}

func set[K comparable](keys func(func(K) bool)) map[K]bool {
	s := map[K]bool{}
	for k := range keys {
		s[k] = true
	}
	return s
}
