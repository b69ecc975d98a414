package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/store"
)

// An evaluation pins the version that it plays, so that gc keeps it: from its first stage to its last, and while its
// stages wait for a worker. When it is killed for good the pin runs out by itself.
const (
	pinLease   = time.Hour
	pinRenewal = 10 * time.Minute
)

// pinName names the pin of an evaluation.
func (s Stage) pinName() string { return fmt.Sprintf("eval-%08d-%s", s.Update, s.Evaluation) }

// pin begins or extends the lease of an evaluation; training needs none. A version that is not there cannot be kept:
// playing it says so.
func (s Stage) pin(ctx context.Context, st *store.Store) error {
	if s.Evaluation == "" {
		return nil
	}
	err := st.Pin(ctx, s.Run, s.Update, s.pinName(), "evaluation "+s.Evaluation, pinLease)
	if absent(err) {
		return nil
	}
	return err
}

// pinned extends the lease until stop.
func (a *Activities) pinned(ctx context.Context, st *store.Store, s Stage) (stop func(), err error) {
	if s.Evaluation == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := s.pin(ctx, st); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		for {
			select {
			case <-time.After(pinRenewal):
			case <-ctx.Done():
				return
			}
			if err := s.pin(ctx, st); err != nil && ctx.Err() == nil {
				a.log().Warn("a pin is not renewed", "version", s.Update, "evaluation", s.Evaluation, "error", err)
			}
		}
	}()
	return cancel, nil
}
