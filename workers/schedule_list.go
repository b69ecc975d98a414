package workers

import (
	"context"
	"errors"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// ScheduleState is how a schedule stands.
type ScheduleState struct {
	Name    string           `json:"name"`
	Starts  string           `json:"starts"` // in words
	When    string           `json:"when"`   // in words
	Overlap string           `json:"overlap"`
	Catchup float64          `json:"catchup_seconds"`
	Paused  bool             `json:"paused"`
	Note    string           `json:"note"`
	Past    []ScheduledStart `json:"past"` // the last ten, oldest first
	Next    []time.Time      `json:"next"`
	Running []string         `json:"running"` // workflows
	Skipped int              `json:"skipped"` // starts left out since the one before still ran
	Missed  int              `json:"missed"`  // starts that came too late for the catch-up window
}

// ScheduledStart is one start of a schedule.
type ScheduledStart struct {
	Due      time.Time `json:"due"`
	Started  time.Time `json:"started"`
	Workflow string    `json:"workflow"`      // of the start itself
	Run      rl.RunID  `json:"run,omitempty"` // that it started; empty for an evaluation
	State    string    `json:"state"`         // of the workflow: running, completed, failed, canceled, terminated; empty: forgotten
}

// Schedules lists the schedules that start things on a store, by name. Errors: Unavailable.
func Schedules(ctx context.Context, c client.Client, st *store.Store) ([]ScheduleState, error) {
	names, err := st.Names(ctx, store.SchedulePrefix(""))
	if err != nil {
		return nil, err
	}
	all := []ScheduleState{}
	for _, name := range names {
		s, err := Schedule(ctx, c, st, strings.TrimSuffix(name, "/"))
		if rl.KindOf(err) == rl.NotFound { // deleted by somebody else, or its creation was killed
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Schedule says how one schedule stands. Errors: NotFound, Unavailable.
func Schedule(ctx context.Context, c client.Client, st *store.Store, name string) (s ScheduleState, err error) {
	d, err := c.ScheduleClient().GetHandle(ctx, scheduleID(name)).Describe(ctx)
	if err != nil {
		return s, scheduleError(name, err)
	}
	s = ScheduleState{Name: name, Paused: d.Schedule.State.Paused, Note: d.Schedule.State.Note,
		Catchup: d.Schedule.Policy.CatchupWindow.Seconds(), Past: []ScheduledStart{}, Next: d.Info.NextActionTimes, Running: []string{},
		Skipped: d.Info.NumActionsSkippedOverlap, Missed: d.Info.NumActionsMissedCatchupWindow}
	for name, policy := range overlaps {
		if policy == d.Schedule.Policy.Overlap {
			s.Overlap = name
		}
	}
	if s.Paused {
		s.Next = nil
	}
	if s.Next == nil {
		s.Next = []time.Time{}
	}
	what, err := scheduledBy(ctx, st, name, d)
	if err != nil {
		return s, err
	}
	s.When, s.Starts = what.When, "evaluation of "+what.Evaluate
	if what.Run != nil {
		s.Starts = "run " + string(what.Run.Name)
	}
	for _, a := range d.Info.RecentActions {
		p := ScheduledStart{Due: a.ScheduleTime.UTC(), Started: a.ActualTime.UTC()}
		if a.StartWorkflowResult != nil {
			p.Workflow = a.StartWorkflowResult.WorkflowID
			if p.State, err = stateOf(ctx, c, a.StartWorkflowResult); err != nil {
				return s, err
			}
		}
		if what.Run != nil {
			p.Run = rl.ScheduledRun(what.Run.Name, p.Due)
		}
		s.Past = append(s.Past, p)
	}
	for _, r := range d.Info.RunningWorkflows {
		s.Running = append(s.Running, r.WorkflowID)
	}
	return s, nil
}

// stateOf is how a workflow that a schedule started stands, as Temporal calls it.
func stateOf(ctx context.Context, c client.Client, w *client.ScheduleWorkflowExecution) (string, error) {
	d, err := c.DescribeWorkflowExecution(ctx, w.WorkflowID, w.FirstExecutionRunID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return "", nil
	}
	if err != nil {
		return "", rl.Errorf(rl.Unavailable, w.WorkflowID, "%w", err)
	}
	return strings.ToLower(d.WorkflowExecutionInfo.Status.String()), nil
}

// scheduledBy is what a schedule starts.
func scheduledBy(ctx context.Context, st *store.Store, name string, d *client.ScheduleDescription) (what rl.Schedule, err error) {
	action, ok := d.Schedule.Action.(*client.ScheduleWorkflowAction)
	if !ok || len(action.Args) != 1 {
		return what, rl.Errorf(rl.Invalid, "schedule "+name, "it was not made by this program")
	}
	var in workflows.ScheduledIn
	argument, ok := action.Args[0].(*commonpb.Payload)
	if !ok || converter.GetDefaultDataConverter().FromPayload(argument, &in) != nil {
		return what, rl.Errorf(rl.Invalid, "schedule "+name, "it was not made by this program")
	}
	return store.GetJSON[rl.Schedule](ctx, st, in.Schedule)
}
