package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// start is the manifest that a run's update 0 takes its policy from; nil for a run that warms up. When gc has retired it
// since, what it was is still known.
func start(ctx context.Context, st *store.Store, cfg rl.Config) (*rl.Ref, error) {
	if cfg.From == "" {
		return nil, nil
	}
	from, err := rl.ParseStart(cfg.From)
	if err != nil {
		return nil, err
	}
	ref, _, err := st.FindCheckpoint(ctx, from.Run, from.Update)
	if rl.KindOf(err) == rl.NotFound {
		var r rl.Retired
		if r, err = st.Retired(ctx, from.Run, from.Update); err == nil {
			return &r.Manifest, nil
		}
	}
	return &ref, err
}

// adopt makes another checkpoint's files an update's result, without copying a byte. Errors: NotFound, Corrupt when it
// is not whole.
func adopt(ctx context.Context, st *store.Store, from rl.Ref) (r rl.UpdateResult, err error) {
	c, err := st.Checkpoint(ctx, from)
	if err == nil {
		err = st.CheckFiles(ctx, c.Files)
	}
	return rl.UpdateResult{Schema: rl.UpdateResultSchema, Files: c.Files, Formats: c.Formats, Tokenizer: c.Tokenizer, Metrics: map[string]float64{}}, err
}
