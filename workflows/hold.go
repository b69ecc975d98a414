package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"
)

// WaitingFor is what a run waits for that will not come by itself. It is in the memo of the workflow, under WaitingMemo.
type WaitingFor struct {
	What  string    `json:"what"`
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

// WaitingMemo is the key of WaitingFor in Train's memo.
const WaitingMemo = "waiting_for"

// hold waits while the run is paused. over is true when it is cancelled.
func (t *train) hold(ctx workflow.Context) (over bool, err error) {
	if t.wanted == Running {
		return false, nil
	}
	if t.wanted == Paused {
		t.mark(ctx, Paused)
		waits := WaitingFor{What: "resume", Since: workflow.Now(ctx).UTC().Truncate(time.Second), Why: "paused by " + t.by.By}
		if t.by.Why != "" {
			waits.Why += " (" + t.by.Why + ")"
		}
		waits.Why += " " + t.point()
		if err := workflow.UpsertMemo(ctx, map[string]any{WaitingMemo: waits}); err != nil {
			return false, err
		}
		t.stands = Paused
		for t.wanted == Paused {
			if err := workflow.Await(ctx, func() bool { return t.wanted != Paused || len(t.set) > 0 }); err != nil {
				return false, err
			}
			if err := t.settle(ctx); err != nil {
				return false, err
			}
		}
		if err := workflow.UpsertMemo(ctx, map[string]any{WaitingMemo: WaitingFor{}}); err != nil {
			return false, err
		}
	}
	if t.wanted == Cancelled {
		if err := t.withdraw(ctx); err != nil {
			return false, err
		}
	}
	t.stands = t.wanted
	return t.wanted == Cancelled, nil
}

// point is the safe point at which the run stands, or to which it is on its way.
func (t *train) point() string {
	switch n := t.Next; {
	case t.stands == Done:
		return "at the end"
	case t.Made:
		return fmt.Sprintf("after update %d, in its evaluation, between turns", n)
	case t.doing == playing:
		return fmt.Sprintf("in the rollouts of update %d, between turns", n)
	case t.doing != "":
		return fmt.Sprintf("in update %d, before %s", n, t.doing)
	default:
		return fmt.Sprintf("before update %d", n)
	}
}

// What a run does whose episodes are under way, and one whose update job is.
const (
	playing  = "its rollouts"
	training = "its update job"
)

// withdraw cancels the update job under way of a run that is cancelled: paused, it would have gone on by itself.
func (t *train) withdraw(ctx workflow.Context) error {
	if !t.begun {
		return nil
	}
	switch workflow.GetVersion(ctx, "withdraw", workflow.DefaultVersion, 2) {
	case workflow.DefaultVersion:
		return nil
	case 1:
		if t.doing != training {
			return nil
		}
	}
	return workflow.ExecuteActivity(updating(ctx), stages.CancelJob, t.at(t.Next)).Get(ctx, nil)
}
