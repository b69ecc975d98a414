package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// observe adds to an update's summary what its rollouts tell, which the ledger has, and the warnings that begin with it.
// All follows from records that are written once: a second walk of the update finds the same.
func observe(ctx context.Context, st *store.Store, cfg rl.Config, s *rl.UpdateSummary) error {
	_, ledger, _, err := recorded[rl.Ledger](ctx, st, store.LedgerKey(s.Run, s.Update))
	if err != nil {
		return err
	}
	s.Signals = ledger.Signals
	before, err := watched(ctx, st, s.Run, s.Update)
	if err != nil {
		return err
	}
	watch, begun := before.After(*s, cfg)
	s.Watch, s.Events = &watch, append(s.Events, begun...)
	return nil
}

// watched is the watch before an update: that of the newest summary before it, which is the update's before unless that one
// was damaged.
func watched(ctx context.Context, st *store.Store, run rl.RunID, n rl.UpdateNumber) (rl.Watch, error) {
	for n--; n > 0; n-- {
		_, s, ok, err := recorded[rl.UpdateSummary](ctx, st, store.SummaryKey(run, n))
		if err != nil {
			return rl.Watch{}, err
		}
		if ok && s.Watch != nil {
			return *s.Watch, nil
		}
		if ok { // of a version that did not watch
			break
		}
	}
	return rl.Watch{}, nil
}
