package main

import (
	"context"
	"fmt"

	"github.com/longhaul-rl/longhaul/workflows"
)

// stopped is the state of a run that the store knows and Temporal does not: its workflow is past Temporal's retention,
// or Temporal's database was lost. Nobody works on it until it is started again.
const stopped = workflows.RunState("stopped")

// stored is where a run stands by what is stored of it alone.
func (o observer) stored(ctx context.Context, s runStatus) (runStatus, error) {
	_, cfg, err := o.store.Config(ctx, o.run)
	if err != nil {
		return s, noRun(o.run, err)
	}
	last, err := newest(ctx, o.store, o.run)
	if err != nil {
		return s, err
	}
	s.State, s.Updates = stopped, cfg.Updates
	if last != nil {
		s.Update = last.Update
	}
	if last != nil && int(last.Update) >= cfg.Updates {
		s.State = workflows.Done
	}
	return s, o.rates(ctx, &s)
}

// standsStill is what a follower of a stopped run ends with.
func standsStill(s runStatus) error {
	return fmt.Errorf("run %s stands at update %d of %d, and nothing works on it: `longhaul train` with its configuration goes on with it", s.Run, s.Update, s.Updates)
}
