package activities

import (
	"context"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// conversation is the job that a service does: nothing is launched or watched, and what its attempts took is on record as other
// jobs' is.
func conversation(st *store.Store, cfg rl.Config, spec rl.UpdateSpec, key string) *jobWatch {
	w := &jobWatch{store: st, config: cfg.Update, job: launch.Job{Run: spec.Run, Update: spec.Update, Key: key, Spec: st.URI(store.JobSpecKey(key))}}
	w.kept = rl.JobRecord{Schema: rl.JobRecordSchema, Key: key, Launcher: tinkered, Name: w.job.Name()}
	return w
}

// conversed has a service do the work of a spec. It is brought to its end although the stage was cancelled meanwhile, as with
// the embedded trainer. An attempt whose worker dies is not on record, nor one whose note the store does not take.
func (a *Activities) conversed(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, key string) (r rl.UpdateResult, err error) {
	ctx, cancel := finishing(ctx)
	defer cancel()
	w := conversation(st, cfg, spec, key)
	if _, err := st.Put(ctx, store.JobRecordKey(spec.Run, spec.Update), rl.CanonicalJSON(w.kept)); err != nil {
		return r, err
	}
	s := launch.Status{State: launch.Done, Identity: endpoint.At("service", cfg.Policy.URL)}
	if s.Attempt, err = w.next(ctx, s); err != nil {
		return r, err
	}
	began := time.Now()
	r, err = a.trainTinker(ctx, st, cfg, spec, w.kept.Name)
	s.Ran = time.Since(began)
	if err != nil {
		s.State, s.Exit, s.Why = launch.Lost, -1, words(err)
	}
	kept := w.keep(context.WithoutCancel(ctx), s, nil) // the worker may be stopping
	if kept != nil {                                   // what is trained, and paid, is not done again for a note
		a.log().Warn("what an attempt took is not on record", "run", spec.Run, "update", spec.Update, "why", kept)
	}
	return r, err
}

// conversations are what a service took for a spec's work; nil where it was not asked.
func conversations(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, key string, r rl.UpdateResult) (*rl.JobUse, error) {
	u, err := conversation(st, cfg, spec, key).use(ctx, r)
	if err != nil || u.Attempts == 0 {
		return nil, err
	}
	return u, nil
}
