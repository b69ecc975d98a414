package main

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// forget ends a run's workflow and removes its records, so that its name is free. Chunks stay for gc: other runs may
// share them. Forgetting what is not there is done.
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
