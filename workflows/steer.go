package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// Commands of people to a run. They are workflow updates: accepted once and for all when Temporal has answered, whatever
// is killed then, and done when the run has come to a safe point.
const (
	Pause  = "pause"
	Resume = "resume"
	Cancel = "cancel"
	Set    = "set"
)

// Setting is a change of the run's configuration that a person wants: what it becomes, which is recorded, and the plan that
// follows from it.
type Setting struct {
	Command
	Text   string `json:"text"` // "reward.max_usd: 20 -> 30"
	Config rl.Ref `json:"config"`
	From   rl.Ref `json:"from"` // the configuration that it changes
	Plan   Plan   `json:"plan"`
}

// Command says who asks, and why.
type Command struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
}

// Standing is where a command has brought the run.
type Standing struct {
	State RunState `json:"state"`
	At    string   `json:"at"` // the safe point, in words
}

// WaitingFor is what a run waits for that will not come by itself. It is in the memo of the workflow, under WaitingMemo.
type WaitingFor struct {
	What  string    `json:"what"`
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

// WaitingMemo is the key of WaitingFor in Train's memo.
const WaitingMemo = "waiting_for"

// byItself is who pauses a run that cannot go on well without a person.
const byItself = "longhaul"

// steering is what people want of the run.
type steering struct {
	wanted RunState // Running, Paused or Cancelled
	by     Command
	stop   workflow.CancelFunc // ends the work under way at its next safe point
	ended  bool                // it was called for the work under way
	stands RunState            // what the run has come to
	doing  string              // the stage under way, in words; empty between updates
	begun  bool                // the update's job: it may be under way, also when the run was paused since and walks the update again
	set    []Setting           // changes that have not taken effect
}

// steered sets the handlers of commands. They must be there before the first wait.
func (t *train) steered(ctx workflow.Context) error {
	t.wanted, t.stands = Running, Running
	for _, c := range []struct {
		name  string
		state RunState
	}{{Pause, Paused}, {Resume, Running}, {Cancel, Cancelled}} {
		handle := func(ctx workflow.Context, by Command) (Standing, error) {
			t.want(ctx, c.state, by)
			err := workflow.Await(ctx, func() bool { return t.stands == c.state || t.stands.Over() || t.wanted != c.state })
			return Standing{t.stands, t.point()}, err
		}
		check := func(by Command) error { return t.accepts(c.name, by) }
		if err := workflow.SetUpdateHandlerWithOptions(ctx, c.name, handle, workflow.UpdateHandlerOptions{Validator: check}); err != nil {
			return err
		}
	}
	return t.settable(ctx)
}

// settable sets the handler of changes. A change takes effect at the next safe point: before the next update, or, where the run is
// paused, at once.
func (t *train) settable(ctx workflow.Context) error {
	handle := func(ctx workflow.Context, s Setting) (Standing, error) {
		if s.Config != t.newest() { // else it is the same command again, which joins the first
			t.set = append(t.set, s)
			t.tell(ctx, "set", fmt.Sprintf("%s by %s: %s", s.Text, s.By, s.Why))
		}
		err := workflow.Await(ctx, func() bool {
			return !slices.ContainsFunc(t.set, func(o Setting) bool { return o.Config == s.Config }) || t.stands.Over()
		})
		return Standing{t.stands, t.point()}, err
	}
	check := func(s Setting) error {
		if err := t.accepts(Set, s.Command); err != nil {
			return err
		}
		newest := t.newest()
		switch {
		case s.Why == "":
			return temporal.NewApplicationError("set: it does not say why", string(rl.Invalid))
		case len(s.Text) > maxWords:
			return temporal.NewApplicationError(fmt.Sprintf("set: the change is longer than %d bytes", maxWords), string(rl.Invalid))
		case s.Config == newest: // the same command again
			return nil
		case s.From != newest:
			return temporal.NewApplicationError("set: somebody else has changed the run meanwhile; look, and set again", string(rl.Conflict))
		}
		return nil
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, Set, handle, workflow.UpdateHandlerOptions{Validator: check})
}

// newest is the configuration that the run has, or will have once all that was asked for is in effect.
func (t *train) newest() rl.Ref {
	if n := len(t.set); n > 0 {
		return t.set[n-1].Config
	}
	return t.in.Config
}

// settle lets the changes that were asked for take effect, and records them.
func (t *train) settle(ctx workflow.Context) error {
	for len(t.set) > 0 {
		s, first := t.set[0], t.Next
		if t.Made { // but for its evaluation
			first++
		}
		change := rl.Change{Schema: rl.ChangeSchema, Time: workflow.Now(ctx).UTC(), Update: first, By: s.By, Why: s.Why, Text: s.Text, Config: s.Config}
		if err := workflow.ExecuteActivity(noBeat(ctx), stages.Change, activities.ChangeIn{Stage: t.at(t.Next), Change: change}).Get(ctx, nil); err != nil {
			return err
		}
		t.in.Config, t.in.Plan = s.Config, s.Plan
		t.set = t.set[1:]
	}
	return nil
}

// maxWords bounds what a command says, in bytes: it is part of history.
const maxWords = 1000

// accepts refuses a command that cannot be meant. The same command twice is accepted twice, and done once.
func (t *train) accepts(name string, c Command) error {
	switch {
	case c.By == "":
		return temporal.NewApplicationError(name+": it does not say by whom", string(rl.Invalid))
	case len(c.By)+len(c.Why) > maxWords:
		return temporal.NewApplicationError(fmt.Sprintf("%s: the reason is longer than %d bytes", name, maxWords), string(rl.Invalid))
	case t.stands.Over():
		return temporal.NewApplicationError(name+": the run is "+string(t.stands), string(rl.Conflict))
	case t.wanted == Cancelled && name != Cancel:
		return temporal.NewApplicationError(name+": the run is being cancelled", string(rl.Conflict))
	}
	return nil
}

// want notes what is wanted of the run and lets its work come to a safe point.
func (t *train) want(ctx workflow.Context, state RunState, c Command) {
	if t.wanted == state || t.wanted == Cancelled {
		return
	}
	t.wanted, t.by = state, c
	kind := map[RunState]string{Paused: "paused", Running: "resumed", Cancelled: "cancelled"}[state]
	words := kind + " by " + c.By
	if c.Why != "" {
		words += ": " + c.Why
	}
	t.tell(ctx, kind, words)
	if state != Running && t.stop != nil {
		t.ended = true
		t.stop()
	}
}

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

// halted says that work ended after it was stopped: all that it did is recorded, and it is walked again, whatever is
// wanted by now. Whether the stage under way was cancelled, failed or lost its worker on the way makes no difference: Temporal
// tries no stage again that was cancelled, and a failure that lasts comes back in the next walk.
func (t *train) halted(err error) bool { return err != nil && t.ended }
