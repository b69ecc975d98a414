package main

import (
	"context"
	"errors"
	"path"

	"go.temporal.io/api/serviceerror"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// forget ends a run's workflow and removes its records and update jobs, so that its name is free. Chunks stay for gc:
// other runs may share them. Forgetting what is not there is done.
//
// Workers keep versions and trajectories of a run at hand, by its name. So nobody else may be working: Conflict.
func (a *app) forget(ctx context.Context, run rl.RunID) error {
	c, err := a.connect(ctx, want{Temporal: true})
	if rl.KindOf(err) == rl.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Holder != nil {
		return rl.Errorf(rl.Conflict, "data directory", "%s is held by process %d; stop it to start over", a.data, c.Holder.PID)
	}
	if a.externalTemporal() {
		return rl.Errorf(rl.Conflict, "Temporal", "other workers may be working on %s: start over in another store (LONGHAUL_STORE=s3://bucket/other-prefix) and namespace", run)
	}
	err = c.Temporal.TerminateWorkflow(ctx, workflows.TrainID(run), "", "started over")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return err
	}
	if err := forgetJobs(ctx, c.Store, run); err != nil {
		return err
	}
	for o, err := range c.Store.List(ctx, store.RunPrefix(run)) {
		if err != nil {
			return err
		}
		if err := c.Store.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}

// forgetJobs removes a run's update jobs: they refer to its records. A job's spec, which alone says whose it is, goes
// last; one that cannot be read is left for verify to name.
func forgetJobs(ctx context.Context, st *store.Store, run rl.RunID) error {
	for o, err := range st.List(ctx, "jobs/") {
		if err != nil {
			return err
		}
		if path.Base(o.Key) != "spec.json" {
			continue
		}
		_, spec, err := store.FindJSON[rl.UpdateSpec](ctx, st, o.Key)
		if k := rl.KindOf(err); k == rl.Corrupt || k == rl.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if spec.Run != run {
			continue
		}
		for r, err := range st.List(ctx, path.Dir(o.Key)+"/") {
			if err == nil && r.Key != o.Key {
				err = st.Delete(ctx, r.Key)
			}
			if err != nil {
				return err
			}
		}
		if err := st.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}
