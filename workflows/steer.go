package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

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

// halted says that work ended after it was stopped: all that it did is recorded, and it is walked again, whatever is
// wanted by now. Whether the stage under way was cancelled, failed or lost its worker on the way makes no difference: Temporal
// tries no stage again that was cancelled, and a failure that lasts comes back in the next walk.
func (t *train) halted(err error) bool { return err != nil && t.ended }
