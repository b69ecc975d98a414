package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// view is what a store holds that bears on retention, as it was when gc looked.
type view struct {
	runs   []*heldRun
	jobs   []heldJob
	needed map[string][]string // who refers to a manifest, by its key, in words
	pins   []string            // keys of those that ran out
}

// heldRun is one run's part of a view.
type heldRun struct {
	id        rl.RunID
	config    *rl.Config // nil: missing or damaged, then nothing of the run goes
	manifests map[rl.UpdateNumber]manifest
	retired   map[rl.UpdateNumber]bool // without a manifest beside the record
	success   map[rl.UpdateNumber]float64
}

type manifest struct {
	rl.Checkpoint
	ref rl.Ref
}

// heldJob is an update job.
type heldJob struct {
	id     string
	spec   *rl.UpdateSpec // nil: missing
	result *rl.UpdateResult
	rest   []string // keys of its other records
}

// look reads a view. What never changes is read once and remembered. Errors: Corrupt when a manifest or a job cannot be
// read, since what it refers to cannot be told then; else as Get.
func (g *gc) look(ctx context.Context) (*view, error) {
	ids, err := g.store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{needed: map[string][]string{}, runs: make([]*heldRun, len(ids))}
	var mu sync.Mutex
	need := func(key, who string) {
		mu.Lock()
		defer mu.Unlock()
		v.needed[key] = append(v.needed[key], who)
	}
	expired := func(key string) {
		mu.Lock()
		defer mu.Unlock()
		v.pins = append(v.pins, key)
	}
	err = each(len(ids), readers, func(i int) (err error) {
		v.runs[i], err = g.lookAt(ctx, ids[i], need, expired)
		return err
	})
	if err == nil {
		v.jobs, err = g.lookAtJobs(ctx)
	}
	if err != nil {
		return nil, err
	}
	byRun := map[rl.RunID]*heldRun{}
	for _, r := range v.runs {
		byRun[r.id] = r
		if key, ok := r.reference(); ok {
			need(key, fmt.Sprintf("run %s measures its KL against it", r.id))
		}
		if r.config != nil && r.config.From != "" && len(r.manifests) == 0 && len(r.retired) == 0 {
			if s, err := rl.ParseStart(r.config.From); err == nil {
				need(CheckpointKey(s.Run, s.Update), fmt.Sprintf("run %s begins from it", r.id))
			}
		}
	}
	for _, j := range v.jobs {
		if j.spec == nil || j.spec.Base == nil {
			continue
		}
		r := byRun[j.spec.Run]
		if r == nil {
			continue
		}
		if _, made := r.manifests[j.spec.Update]; !made && !r.retired[j.spec.Update] {
			need(j.spec.Base.Key, fmt.Sprintf("%s/%d is being trained from it", j.spec.Run, j.spec.Update))
		}
	}
	return v, nil
}

// lookAt reads one run's part.
func (g *gc) lookAt(ctx context.Context, id rl.RunID, need func(key, who string), expired func(key string)) (*heldRun, error) {
	r := &heldRun{id: id, manifests: map[rl.UpdateNumber]manifest{}, retired: map[rl.UpdateNumber]bool{}, success: map[rl.UpdateNumber]float64{}}
	_, cfg, err := g.store.Config(ctx, id)
	if err == nil {
		r.config = &cfg
	} else if !damaged(err) {
		return r, err
	}
	for _, part := range []func() error{
		func() error { return g.lookAtCheckpoints(ctx, r) },
		func() error { return g.lookAtPins(ctx, id, need, expired) },
		func() error { return g.lookAtPointers(ctx, id, need) },
		func() error { return g.lookAtEvaluations(ctx, r) },
	} {
		if err := part(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reference is the manifest of the policy that the run's loss compares with, until its last update is made.
func (r *heldRun) reference() (key string, ok bool) {
	if r.config == nil {
		return "", false
	}
	last := rl.UpdateNumber(r.config.Updates)
	run, n, err := r.config.ReferenceVersion().Parse()
	_, made := r.manifests[last]
	return CheckpointKey(run, n), err == nil && !made && !r.retired[last]
}

func (g *gc) lookAtCheckpoints(ctx context.Context, r *heldRun) error {
	manifests, err := gathered(ctx, g, CheckpointPrefix(r.id), func(key, name string) (m manifest, err error) {
		n, ok := numberOf(name)
		if !ok {
			return m, rl.Errorf(rl.Corrupt, at(key), "it is no manifest")
		}
		return remembered(g, key, func() (m manifest, err error) {
			m.ref, m.Checkpoint, err = g.store.FindCheckpoint(ctx, r.id, n)
			return m, err
		})
	})
	if err != nil {
		return err
	}
	for _, m := range manifests {
		r.manifests[m.Update] = m
	}
	names, err := g.store.Names(ctx, RetiredPrefix(r.id))
	for _, name := range names {
		if n, ok := numberOf(name); ok && r.manifests[n].ref.Key == "" {
			r.retired[n] = true
		}
	}
	return err
}

func (g *gc) lookAtPins(ctx context.Context, id rl.RunID, need func(key, who string), expired func(key string)) error {
	pins, err := gathered(ctx, g, PinPrefix(id), func(key, _ string) (rl.Pin, error) {
		_, p, err := FindJSON[rl.Pin](ctx, g.store, key) // it changes
		return p, err
	})
	for key, p := range pins {
		if time.Now().After(p.Until.Add(pinSlack)) {
			expired(key)
		} else {
			need(p.Manifest.Key, "pinned: "+p.For)
		}
	}
	return err
}

func (g *gc) lookAtPointers(ctx context.Context, id rl.RunID, need func(key, who string)) error {
	for _, name := range []string{Latest, Best} {
		to, err := g.store.Pointer(ctx, id, name)
		if err == nil {
			need(to.Key, name+" of "+string(id))
		} else if !damaged(err) {
			return err
		}
	}
	return nil
}

// lookAtEvaluations reads how well the run's checkpoints did in its own evaluation.
func (g *gc) lookAtEvaluations(ctx context.Context, r *heldRun) error {
	if r.config == nil {
		return nil
	}
	own := g.Evaluation(*r.config)
	begun, err := g.store.Names(ctx, RunPrefix(r.id)+"evals/")
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, name := range begun {
		there[RunPrefix(r.id)+"evals/"+name] = true
	}
	for n := range r.manifests {
		key := EvaluationKey(r.id, n, own)
		if !there[EvaluationPrefix(r.id, n, own)] {
			continue
		}
		e, err := remembered(g, key, func() (rl.Evaluation, error) {
			_, e, err := FindJSON[rl.Evaluation](ctx, g.store, key)
			return e, err
		})
		if err == nil {
			r.success[n] = e.Success()
		} else if !damaged(err) { // damaged or not over yet: not evaluated
			return err
		}
	}
	return nil
}
