package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
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
