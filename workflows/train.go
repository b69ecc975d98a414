package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// historyLimit is the number of events after which Train continues as new, between two updates.
const historyLimit = 2000

// TrainIn starts a run, or goes on with it: State is carried across continue-as-new, Logic is LogicVersion at launch.
type TrainIn struct {
	Logic  int      `json:"logic"`
	Run    rl.RunID `json:"run"`
	Store  string   `json:"store"`
	Config rl.Ref   `json:"config"`
	Plan   Plan     `json:"plan"`
	State  *State   `json:"state,omitempty"`
}

// State is all that Train knows from one update to the next.
type State struct {
	Next    rl.UpdateNumber `json:"next"`           // the update to make
	Base    *rl.Ref         `json:"base,omitempty"` // manifest to train from; its version samples
	Current rl.UpdateNumber `json:"current"`        // update of Base
	Made    bool            `json:"made,omitempty"` // update Next is made; its evaluation may be due
	Guard   rl.Guard        `json:"guard"`
	Empty   int             `json:"empty,omitempty"`  // updates in a row that had nothing to train on
	Rounds  int             `json:"rounds,omitempty"` // of further tasks, allowed for this update beside the plan's
	Reopen  bool            `json:"reopen,omitempty"` // the update's failed episodes get another chance
	Backs   int             `json:"backs"`            // fallbacks in a row without a new update in between
	Untold  []rl.Event      `json:"untold,omitempty"` // not yet in an update's summary
}

// TrainOut is the finished run. One that was cancelled goes on from its newest checkpoint when it is started again.
type TrainOut struct {
	State      RunState `json:"state,omitempty"` // Done or Cancelled; empty: Done
	Updates    int      `json:"updates"`
	Checkpoint rl.Ref   `json:"checkpoint"`
}

// Train makes a run's updates, from wherever the store says the run stands. One per run; its id is TrainID.
func Train(ctx workflow.Context, in TrainIn) (TrainOut, error) {
	t := train{in: in}
	if in.State != nil {
		t.State = *in.State
	}
	if in.Logic != LogicVersion { // fails the workflow task and not the run: the right binary can go on with it
		panic(fmt.Sprintf("run %s was started under workflow logic %d, this binary has %d: go on with the binary that started it", in.Run, in.Logic, LogicVersion))
	}
	out, err := t.run(ctx)
	if err != nil && !workflow.IsContinueAsNewError(err) {
		t.stands = Failed
		if temporal.IsCanceledError(err) { // by Temporal's own means
			t.stands = Cancelled
			last, _ := workflow.NewDisconnectedContext(ctx)
			if err := t.withdraw(last); err != nil {
				workflow.GetLogger(ctx).Warn("the update job was not cancelled", "run", in.Run, "error", err)
			}
		}
		t.mark(ctx, t.stands)
		if t.stands == Failed { // whoever waits for a command hears of it
			_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }) // the failure counts
		}
	}
	return out, err
}

type train struct {
	State
	steering
	in      TrainIn
	asked   int // groups of the update at hand, and those of them that reached the quorum
	valid   int
	nothing bool // to train on, in the update at hand
}

func (t *train) run(ctx workflow.Context) (TrainOut, error) {
	if err := t.steered(ctx); err != nil {
		return TrainOut{}, err
	}
	if t.in.State == nil {
		if err := t.restore(ctx); err != nil {
			return TrainOut{}, err
		}
	}
	for int(t.Next) <= t.in.Plan.Updates {
		if over, err := t.hold(ctx); err != nil {
			return TrainOut{}, err
		} else if over {
			return t.end(ctx, Cancelled)
		}
		if err := t.settle(ctx); err != nil {
			return TrainOut{}, err
		}
		t.mark(ctx, Running)
		switch err := t.step(ctx); {
		case t.halted(err):
			continue
		case activities.KindOf(err) == rl.Corrupt, activities.KindOf(err) == rl.NotFound:
			if err := t.fallBack(ctx, err); err != nil {
				return TrainOut{}, err
			}
			continue
		case activities.KindOf(err) == rl.Exhausted, activities.KindOf(err) == rl.Refused && (failedIn(err, "JudgeGroup") || failedIn(err, "UpdatePolicy")):
			// A person can raise the limit, or mend the judge's settings or the job's place, and all that was played is kept.
			t.want(ctx, Paused, Command{By: byItself, Why: wordsOf(err)})
			continue
		case err != nil:
			return TrainOut{}, err
		}
		t.Next, t.Made, t.Rounds, t.Reopen, t.doing, t.begun = t.Next+1, false, 0, false, "", false
		if t.Empty++; !t.nothing { // counted here and not where it is found: an update may be walked twice
			t.Empty = 0
		}
		if t.Empty >= emptyInARow {
			t.want(ctx, Paused, Command{By: byItself, Why: fmt.Sprintf("%d updates in a row had nothing to train on", t.Empty)})
			t.Empty = 0
		}
		info := workflow.GetInfo(ctx)
		long := info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > historyLimit
		if long && t.wanted == Running && len(t.set) == 0 && workflow.AllHandlersFinished(ctx) {
			t.in.State = &t.State
			return TrainOut{}, workflow.NewContinueAsNewError(ctx, Train, t.in)
		}
	}
	return t.end(ctx, Done)
}

// failedIn reports whether the activity of a name has failed.
func failedIn(err error, activity string) bool {
	e, ok := errors.AsType[*temporal.ActivityError](err)
	return ok && e.ActivityType().GetName() == activity
}

// wordsOf are a stage's own words about its failure.
func wordsOf(err error) string {
	if e, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return e.Message()
	}
	return err.Error()
}

// emptyInARow is how many updates may follow one another without anything to train on before the run is paused.
const emptyInARow = 10

// step makes update Next, as far as that is not done, and evaluates it. A command that stops the run cancels it, which
// takes effect between turns and stages, and never in the middle of one.
func (t *train) step(ctx workflow.Context) error {
	work, stop := workflow.WithCancel(ctx)
	defer stop()
	t.stop, t.ended, t.doing = stop, false, ""
	if !t.Made {
		if err := t.update(work); err != nil {
			return err
		}
		t.Made, t.doing = true, ""
	}
	return t.evaluate(work)
}

// end closes the run in a state.
func (t *train) end(ctx workflow.Context, state RunState) (TrainOut, error) {
	t.mark(ctx, state)
	t.stands = state
	out := TrainOut{State: state, Updates: t.in.Plan.Updates}
	if t.Base != nil {
		out.Checkpoint = *t.Base
	}
	return out, workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// restore finds where the run stands by what is stored.
func (t *train) restore(ctx workflow.Context) error {
	var found activities.RestoreOut
	if err := workflow.ExecuteActivity(bookkeeping(ctx), stages.Restore, activities.RestoreIn{Stage: t.at(t.Next), EvalKey: t.in.Plan.EvalKey}).Get(ctx, &found); err != nil {
		return err
	}
	t.Next, t.Made, t.Base, t.Current, t.Guard = found.Next, false, found.Base, found.Current, found.Guard
	t.tellSkipped(ctx, found)
	return nil
}

// fallBack answers corrupt bytes: the run goes on from its newest whole checkpoint. The updates after that one are
// walked again, which finds all that is recorded and whole, and makes anew what is not: to the same bytes, unless settings were
// changed since. A store that damages again what was mended ends the run.
func (t *train) fallBack(ctx workflow.Context, cause error) error {
	if t.Backs++; t.Backs > backsInARow {
		return cause
	}
	return t.restore(ctx)
}

// backsInARow bounds the fallbacks between two new updates.
const backsInARow = 3

func (t *train) tellSkipped(ctx workflow.Context, found activities.RestoreOut) {
	instead := fmt.Sprintf("going on with update %d from update %d instead", found.Next, found.Current)
	if found.Base == nil {
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
