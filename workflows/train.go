package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// historyLimit is the number of events after which Train continues as new, between two updates.
const historyLimit = 2000

// TrainIn starts a run, or goes on with it: State is carried across continue-as-new.
type TrainIn struct {
	Run    rl.RunID `json:"run"`
	Store  string   `json:"store"`
	Config rl.Ref   `json:"config"`
	Plan   Plan     `json:"plan"`
	State  *State   `json:"state,omitempty"`
}

// State is all that Train knows from one update to the next.
type State struct {
	Logic   int             `json:"logic"`
	Next    rl.UpdateNumber `json:"next"`           // the update to make
	Base    *rl.Ref         `json:"base,omitempty"` // manifest to train from; its version samples
	Current rl.UpdateNumber `json:"current"`        // update of Base
	Best    *Best           `json:"best,omitempty"`
	Scale   float64         `json:"scale"`            // of the learning rate
	Retries int             `json:"retries"`          // collapses gone back from
	Backs   int             `json:"backs"`            // fallbacks in a row without a new update in between
	Seconds rl.Seconds      `json:"seconds"`          // of the last finished update
	Untold  []rl.Event      `json:"untold,omitempty"` // not yet in an update's summary
}

// TrainOut is the finished run.
type TrainOut struct {
	Updates    int    `json:"updates"`
	Checkpoint rl.Ref `json:"checkpoint"`
}

// Train makes a run's updates, from wherever the store says the run stands. One per run; its id is TrainID.
func Train(ctx workflow.Context, in TrainIn) (TrainOut, error) {
	t := train{in: in}
	if in.State != nil {
		t.State = *in.State
	} else {
		t.State = State{Logic: LogicVersion, Scale: 1}
	}
	if t.Logic != LogicVersion {
		return TrainOut{}, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the run was started under workflow logic %d, this binary has %d: finish it with the binary that started it", t.Logic, LogicVersion), string(rl.Conflict), nil)
	}
	out, err := t.run(ctx)
	if err != nil && !workflow.IsContinueAsNewError(err) {
		t.mark(ctx, Failed)
	}
	return out, err
}

type train struct {
	State
	in TrainIn
}

func (t *train) run(ctx workflow.Context) (TrainOut, error) {
	if t.in.State == nil {
		if err := t.restore(ctx); err != nil {
			return TrainOut{}, err
		}
	}
	for int(t.Next) <= t.in.Plan.Updates {
		t.mark(ctx, Running)
		err := t.update(ctx)
		if err == nil {
			err = t.evaluate(ctx)
		}
		if activities.KindOf(err) == rl.Corrupt {
			if err := t.fallBack(ctx, err); err != nil {
				return TrainOut{}, err
			}
			continue
		}
		if err != nil {
			return TrainOut{}, err
		}
		t.Next++
		info := workflow.GetInfo(ctx)
		if info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > historyLimit {
			t.in.State = &t.State
			return TrainOut{}, workflow.NewContinueAsNewError(ctx, Train, t.in)
		}
	}
	t.mark(ctx, Done)
	return TrainOut{Updates: t.in.Plan.Updates, Checkpoint: *t.Base}, nil
}

// restore finds where the run stands: after its newest whole checkpoint, or at the very beginning.
func (t *train) restore(ctx workflow.Context) error {
	var found activities.RestoreOut
	if err := workflow.ExecuteActivity(bookkeeping(ctx), stages.Restore, activities.RestoreIn{Stage: t.at(t.Next), EvalKey: t.in.Plan.EvalKey}).Get(ctx, &found); err != nil {
		return err
	}
	t.tellSkipped(ctx, found)
	if found.Manifest == nil {
		t.Base, t.Current, t.Next = nil, 0, 0
		return nil
	}
	t.Base, t.Current, t.Next = found.Manifest, found.Update, found.Update+1
	if found.Best != nil {
		t.Best = &Best{Manifest: *found.Best, Update: found.BestUpdate, Success: found.BestValue}
	}
	return nil
}

// fallBack answers corrupt bytes: the run goes on from the newest whole checkpoint before them. The updates after that
// one are walked again, which finds all that is recorded and whole, and makes anew, to the same bytes, what is not.
// When the run already stands on that checkpoint, something else is corrupt, and there is nothing to go back to; nor is
// there when the store damages what is mended again and again.
func (t *train) fallBack(ctx workflow.Context, cause error) error {
	was := t.Base
	t.Backs++
	if err := t.restore(ctx); err != nil {
		return err
	}
	if t.Backs > backsInARow || was == nil || t.Base != nil && *t.Base == *was {
		return cause
	}
	return nil
}

// backsInARow bounds the fallbacks between two new updates.
const backsInARow = 3

func (t *train) tellSkipped(ctx workflow.Context, found activities.RestoreOut) {
	instead := fmt.Sprintf("going on from update %d instead", found.Update)
	if found.Manifest == nil {
		instead = "no checkpoint before it is whole: walking the line again from its beginning, with all that is recorded"
	}
	for _, s := range found.Skipped {
		t.tell(ctx, "checkpoint_fallback", s+"; "+instead)
	}
}

// at is the stage's place in the store.
func (t *train) at(n rl.UpdateNumber) activities.Stage {
	return activities.Stage{Run: t.in.Run, Store: t.in.Store, Config: t.in.Config, Update: n}
}

// tell records an event for people: it is in the next update's summary.
func (t *train) tell(ctx workflow.Context, kind, text string) {
	t.Untold = append(t.Untold, rl.Event{Time: workflow.Now(ctx).UTC().Truncate(time.Second), Update: t.Next, Kind: kind, Text: text})
	workflow.GetLogger(ctx).Warn(text, "run", t.in.Run, "event", kind)
}

// mark writes the run's state where Temporal's lists and `longhaul status` find it.
func (t *train) mark(ctx workflow.Context, state RunState) {
	n := min(int(t.Next), t.in.Plan.Updates)
	err := workflow.UpsertTypedSearchAttributes(ctx,
		RunAttribute.ValueSet(string(t.in.Run)), UpdateAttribute.ValueSet(int64(n)), StateAttribute.ValueSet(string(state)))
	if err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not written", "error", err)
	}
}
