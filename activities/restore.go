package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// RestoreIn asks where a run stands. EvalKey tells its own evaluations apart.
type RestoreIn struct {
	Stage
	EvalKey string `json:"eval_key"`
}

// RestoreOut is where a run goes on: with update Next, trained from Base.
type RestoreOut struct {
	Next    rl.UpdateNumber `json:"next"`
	Base    *rl.Ref         `json:"base,omitempty"` // nil: update 0, which makes the initial policy
	Current rl.UpdateNumber `json:"current"`        // update of Base
	Guard   rl.Guard        `json:"guard"`
	// Skipped says which newer checkpoints are not whole, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// Restore finds where a run stands by what is stored alone: after the newest checkpoint whose every byte is what was
// stored; or at that update once more, when it was not told of or not evaluated yet. What the guard had decided is
// worked out again from the evaluations.
func (a *Activities) Restore(ctx context.Context, in RestoreIn) (RestoreOut, error) {
	defer beat(ctx)()
	out, err := a.restore(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) restore(ctx context.Context, in RestoreIn) (RestoreOut, error) {
	out := RestoreOut{Guard: rl.Guard{Scale: 1}}
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	found, err := st.Restore(ctx, in.Run, nil)
	for _, s := range found.Skipped {
		out.Skipped = append(out.Skipped, s.Key+": "+s.Why)
	}
	if kind := rl.KindOf(err); kind == rl.NotFound || kind == rl.Corrupt { // none, or none that is whole
		return out, st.Recall(ctx, in.Run, -1)
	}
	if err != nil {
		return out, err
	}
	if len(found.Skipped) > 0 {
		if err := st.Recall(ctx, in.Run, found.Checkpoint.Update); err != nil {
			return out, err
		}
	}
	w := walk{Stage: in.Stage, store: st, config: cfg, evalKey: in.EvalKey}
	n := found.Checkpoint.Update
	if out.Guard, err = w.guard(ctx, n); err != nil {
		return out, err
	}
	done, err := w.done(ctx, n)
	if err != nil {
		return out, err
	}
	if !done {
		return out, w.again(ctx, &out, found.Checkpoint)
	}
	out.Next, out.Base, out.Current = n+1, &found.Ref, n
	guard, verdict, err := w.judge(ctx, out.Guard, n, found.Ref)
	if out.Guard = guard; verdict.Back {
		out.Base, out.Current = &guard.Best.Manifest, guard.Best.Update
	}
	return out, err
}

// walk reads what the line has left behind of a run.
type walk struct {
	Stage
	store   *store.Store
	config  rl.Config
	evalKey string
}

// guard is the guard as it was when update n began: after all evaluations before n.
func (w walk) guard(ctx context.Context, n rl.UpdateNumber) (g rl.Guard, err error) {
	g = rl.Guard{Scale: 1}
	for k := rl.UpdateNumber(0); k < n; k++ {
		if !w.config.Eval.Due(k, w.config.Updates) {
			continue
		}
		manifest, _, err := w.store.FindCheckpoint(ctx, w.Run, k)
		if rl.KindOf(err) == rl.NotFound { // what gc retired was judged too
			var r rl.Retired
			r, err = w.store.Retired(ctx, w.Run, k)
			manifest = r.Manifest
		}
		if err != nil {
			if err := unlessGone(err); err != nil {
				return g, err
			}
			continue
		}
		if g, _, err = w.judge(ctx, g, k, manifest); err != nil {
			return g, err
		}
	}
	return g, nil
}

// judge applies the evaluation of version n, if there is one.
func (w walk) judge(ctx context.Context, g rl.Guard, n rl.UpdateNumber, manifest rl.Ref) (rl.Guard, rl.Verdict, error) {
	_, e, err := store.FindJSON[rl.Evaluation](ctx, w.store, store.EvaluationKey(w.Run, n, w.evalKey))
	if err != nil {
		return g, rl.Verdict{}, unlessGone(err)
	}
	return g.After(n, manifest, e, w.config.GuardRules())
}

// done reports whether update n left all that it leaves: its summary, and its evaluation when that is due.
func (w walk) done(ctx context.Context, n rl.UpdateNumber) (bool, error) {
	_, _, err := store.FindJSON[rl.UpdateSummary](ctx, w.store, store.SummaryKey(w.Run, n))
	if err == nil && w.config.Eval.Due(n, w.config.Updates) {
		_, _, err = store.FindJSON[rl.Evaluation](ctx, w.store, store.EvaluationKey(w.Run, n, w.evalKey))
	}
	return err == nil, unlessGone(err)
}

// again puts the run back to the beginning of the update that made c.
func (w walk) again(ctx context.Context, out *RestoreOut, c rl.Checkpoint) error {
	out.Next = c.Update
	if c.Parent == nil || c.Update == 0 { // what update 0 starts from, its configuration says
		return nil
	}
	out.Base = c.Parent
	parent, err := w.store.Checkpoint(ctx, *c.Parent)
	out.Current = parent.Update
	return err
}

// unlessGone is nil for an object that is missing or damaged.
func unlessGone(err error) error {
	if kind := rl.KindOf(err); kind == rl.NotFound || kind == rl.Corrupt {
		return nil
	}
	return err
}
