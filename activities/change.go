package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// ChangeIn is a change of a run's configuration that takes effect.
type ChangeIn struct {
	Stage
	Change rl.Change `json:"change"`
}

// Change records a change of the run's configuration: a run that is started again goes on with it.
func (a *Activities) Change(ctx context.Context, in ChangeIn) error {
	st, err := a.store(ctx, in.Store)
	if err == nil {
		_, _, err = store.PutJSON(ctx, st, store.ChangeKey(in.Run, in.Change.Time), in.Change)
	}
	return temporalError(ctx, err)
}
