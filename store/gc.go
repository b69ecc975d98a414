package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// GCOptions say what GC may remove.
type GCOptions struct {
	Runs       []rl.RunID                // whose checkpoints and journals may go; empty: of all runs
	Retention  func(rl.Config) Retention // of a run
	Evaluation func(rl.Config) string    // key of a run's own evaluation, by which its checkpoints are compared
	Grace      time.Duration             // what was stored more recently stays
	DryRun     bool                      // only say what would go
}

// GCReport is what GC did, or would do.
type GCReport struct {
	DryRun bool           `json:"dry_run"`
	Runs   []RunRetention `json:"runs"`
	Freed  Freed          `json:"freed"`
	// Waiting is chunks to which nothing refers that are younger than the grace period.
	Waiting Heap `json:"waiting"`
}

// RunRetention is the checkpoints of a run: which stay and which go, oldest first, each with why.
type RunRetention struct {
	Run     rl.RunID     `json:"run"`
	Kept    []KeptOrGone `json:"kept"`
	Retired []KeptOrGone `json:"retired"`
}

// KeptOrGone is a checkpoint and why it stays, or goes.
type KeptOrGone struct {
	Version rl.Version `json:"version"`
	Why     string     `json:"why"`
}

// Freed counts what was removed.
type Freed struct {
	Checkpoints int  `json:"checkpoints"` // manifests; a record of each stays
	Jobs        int  `json:"jobs"`        // specifications and results of retired updates
	Chunks      Heap `json:"chunks"`
	Journals    Heap `json:"journals"` // segments
	Notes       int  `json:"notes"`    // pins that ran out, probes of endpoints that were left behind
}

// Heap is some objects and their bytes.
type Heap struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (h *Heap) add(o Object) { h.Objects, h.Bytes = h.Objects+1, h.Bytes+o.Size }

// gc is a GC in progress.
type gc struct {
	GCOptions
	store   *Store
	sweeper *sweeper // nil in a dry run
	memory  sync.Map // immutable objects, by key
	mu      sync.Mutex
	report  GCReport
}

// GC removes what no run needs any more, in this order: the manifests of checkpoints that retention does not keep (a
// record of each stays, see rl.Retired), their update jobs, chunks to which no manifest and no job's result refers,
// journals of updates and evaluations that are over, and notes that ran out. Trajectories, scores, batches, ledgers,
// summaries and evaluations stay.
//
// It is safe beside running runs (sweep.go says why) and may be killed at any moment: the next GC goes on. Chunks are
// shared, so those of all runs are looked at whichever runs are asked for.
//
// Errors: NotFound for a run that is not there, Conflict when another gc is at work, Corrupt when a manifest, a job or a
// pin cannot be read (nothing is removed then: verify says more), else as Get.
func (s *Store) GC(ctx context.Context, o GCOptions) (GCReport, error) {
	g := &gc{GCOptions: o, store: s, report: GCReport{DryRun: o.DryRun, Runs: []RunRetention{}}}
	if !o.DryRun {
		var err error
		if g.sweeper, err = s.startSweep(ctx); err != nil {
			return g.report, err
		}
		defer g.sweeper.end(ctx)
	}
	v, err := g.look(ctx)
	if err != nil {
		return g.report, err
	}
	for _, id := range o.Runs {
		if !slices.ContainsFunc(v.runs, func(r *heldRun) bool { return r.id == id }) {
			return g.report, rl.Errorf(rl.NotFound, "run "+string(id), "there is no such run in %s", s)
		}
	}
	for _, step := range []func(context.Context, *view) error{g.checkpoints, g.jobs, g.chunks, g.journals, g.notes} {
		if err := step(ctx, v); err != nil {
			return g.report, err
		}
	}
	return g.report, nil
}

// plan is what goes by retention, by the key of its manifest, and what is said of every run.
func (g *gc) plan(v *view) (going map[string]rl.Retired, said []RunRetention) {
	going = map[string]rl.Retired{}
	for _, r := range v.runs {
		if r.config == nil || len(r.manifests) == 0 || !g.concerns(r.id) {
			continue
		}
		h := held{parents: map[rl.UpdateNumber]rl.UpdateNumber{}, success: r.success, needed: map[rl.UpdateNumber][]string{}}
		for n, m := range r.manifests {
			h.parents[n] = -1
			if m.Parent != nil {
				if run, p, ok := manifestOf(m.Parent.Key); ok && run == r.id {
					h.parents[n] = p
				}
			}
			if who := v.needed[m.ref.Key]; len(who) > 0 {
				h.needed[n] = who
			}
		}
		rule := g.Retention(*r.config)
		kept := rule.keep(h)
		s := RunRetention{Run: r.id, Kept: []KeptOrGone{}, Retired: []KeptOrGone{}}
		for _, n := range slices.Sorted(maps.Keys(r.manifests)) {
			m := r.manifests[n]
			if why, stays := kept[n]; stays {
				slices.Sort(why)
				s.Kept = append(s.Kept, KeptOrGone{m.Version, strings.Join(slices.Compact(why), ", ")})
				continue
			}
			going[m.ref.Key] = rl.Retired{Schema: rl.RetiredSchema, Manifest: m.ref, Checkpoint: m.Checkpoint, Why: rule.words()}
			s.Retired = append(s.Retired, KeptOrGone{m.Version, rule.words()})
		}
		said = append(said, s)
	}
	return going, said
}
