package activities

import (
	"context"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// RestoreIn asks where a run stands. EvalKey tells its evaluations apart, for the best one's success.
type RestoreIn struct {
	Stage
	EvalKey string `json:"eval_key"`
}

// RestoreOut is the checkpoint to go on from; Manifest is nil when the run has none yet, or none that is whole.
type RestoreOut struct {
	Manifest *rl.Ref         `json:"manifest,omitempty"`
	Update   rl.UpdateNumber `json:"update"`
	// Skipped says which newer checkpoints are not whole, and why.
	Skipped []string `json:"skipped,omitempty"`
	// Best is the run's best evaluated checkpoint, if it is known.
	Best       *rl.Ref         `json:"best,omitempty"`
	BestUpdate rl.UpdateNumber `json:"best_update,omitempty"`
	BestValue  float64         `json:"best_value,omitempty"`
}

// Restore finds the newest checkpoint of the run whose every byte is what was stored, and the best one.
func (a *Activities) Restore(ctx context.Context, in RestoreIn) (RestoreOut, error) {
	defer beat(ctx)()
	out, err := a.restore(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) restore(ctx context.Context, in RestoreIn) (out RestoreOut, err error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	found, err := st.Restore(ctx, in.Run, nil)
	for _, s := range found.Skipped {
		out.Skipped = append(out.Skipped, s.Key+": "+s.Why)
	}
	if kind := rl.KindOf(err); kind == rl.NotFound || kind == rl.Corrupt { // none, or none that is whole
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Manifest, out.Update = &found.Ref, found.Checkpoint.Update
	return out, out.best(ctx, st, cfg, in)
}

// best fills in the best checkpoint. One that is damaged, or was evaluated otherwise, counts as none.
func (out *RestoreOut) best(ctx context.Context, st *store.Store, cfg rl.Config, in RestoreIn) error {
	rule, err := rl.ParsePromote(cfg.Eval.Promote)
	if err != nil {
		return err
	}
	ref, err := st.Pointer(ctx, in.Run, store.Best)
	if err != nil {
		return unlessGone(err)
	}
	ckpt, err := st.Checkpoint(ctx, ref)
	if err != nil {
		return unlessGone(err)
	}
	_, e, err := store.FindJSON[rl.Evaluation](ctx, st, store.EvaluationKey(in.Run, ckpt.Update, in.EvalKey))
	if err != nil {
		return unlessGone(err)
	}
	if !slices.ContainsFunc(out.Skipped, func(s string) bool { return strings.HasPrefix(s, ref.Key+":") }) {
		out.Best, out.BestUpdate, out.BestValue = &ref, ckpt.Update, rule.Value(e)
	}
	return nil
}

// unlessGone is nil for an object that is missing or damaged.
func unlessGone(err error) error {
	if kind := rl.KindOf(err); kind == rl.NotFound || kind == rl.Corrupt {
		return nil
	}
	return err
}
