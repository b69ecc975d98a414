package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// runStatus is `status RUN --json`.
type runStatus struct {
	Run        rl.RunID           `json:"run"`
	State      workflows.RunState `json:"state"`
	Stage      string             `json:"stage,omitempty"`
	Progress   *progress          `json:"progress,omitempty"`
	Job        *rl.JobStatus      `json:"job,omitempty"` // the update job under way, where it is one of its own
	Update     rl.UpdateNumber    `json:"update"`
	Updates    int                `json:"updates"`
	WaitingFor *waiting           `json:"waiting_for"`
	// Servers are the policy's, as workers told of them in the last seconds; none where the policy is embedded.
	Servers    []policy.ServerStatus `json:"servers,omitempty"`
	Checkpoint *checkpoint           `json:"checkpoint"`
	Best       *checkpoint           `json:"best"`
	Rates      rates                 `json:"rates"`
	Seconds    rl.Seconds            `json:"seconds"` // of the last finished update
	ETA        *time.Time            `json:"eta"`
	Events     []rl.Event            `json:"events,omitempty"` // of the newest updates
	// Warnings are those that stand, by name, with the update that they began with.
	Warnings map[string]rl.UpdateNumber `json:"warnings,omitempty"`
	Failure  string                     `json:"failure,omitempty"`
}

type (
	checkpoint struct {
		Version rl.Version `json:"version"`
		SHA256  string     `json:"sha256"`
	}
	rates struct {
		TokensPerSecond  float64 `json:"tokens_per_second"` // sampled, while rolling out
		TurnsPerSecond   float64 `json:"turns_per_second"`
		SecondsPerUpdate float64 `json:"seconds_per_update"` // mean of the last few
	}
	// waiting is what a run waits for: a stage that failed and will be tried again, or a person.
	waiting struct {
		What  string    `json:"what"`
		Since time.Time `json:"since"`
		Why   string    `json:"why"`
	}
	// progress is how far the stage under way is.
	progress struct {
		What  string `json:"what"`
		Done  int    `json:"done"`
		Total int    `json:"total"`
	}
)

// observer reads where a run stands, from its workflow and from the store.
type observer struct {
	client client.Client
	store  *store.Store
	run    rl.RunID
	// scheduled is when activities that failed were first asked for, by workflow run and activity, as far as looked up.
	scheduled map[string]time.Time
}

// status is NotFound when there is no such run. It asks Temporal's server and the store, never a worker: it answers
// while no worker is there, and does not disturb one that is.
func (o observer) status(ctx context.Context) (s runStatus, err error) {
	s = runStatus{Run: o.run, State: workflows.Running}
	described, err := o.client.DescribeWorkflowExecution(ctx, workflows.TrainID(o.run), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return o.stored(ctx, s)
	}
	if err != nil {
		return s, err
	}
	_, cfg, err := o.store.Config(ctx, o.run)
	if err != nil {
		return s, err
	}
	info := described.WorkflowExecutionInfo
	s.Updates = cfg.Updates
	if p := info.GetSearchAttributes().GetIndexedFields()[workflows.UpdateAttribute.GetName()]; p != nil {
		if err := converter.GetDefaultDataConverter().FromPayload(p, &s.Update); err != nil {
			return s, err
		}
	}
	if err := o.rates(ctx, &s); err != nil {
		return s, err
	}
	switch s.State = stateOf(info); s.State {
	case workflows.Paused:
		s.WaitingFor = waitsFor(info)
	case workflows.Running:
		o.look(ctx, &s, described)
		if s.Rates.SecondsPerUpdate > 0 {
			left := float64(s.Updates-int(s.Update)+1) * s.Rates.SecondsPerUpdate
			eta := time.Now().Add(time.Duration(left * float64(time.Second))).UTC().Truncate(time.Second)
			s.ETA = &eta
		}
	case workflows.Failed:
		s.Failure = o.failure(ctx)
	}
	return s, nil
}

// stateOf is a run's state, by its workflow. What the run itself says of it counts while the workflow is open, and where
// it ended well.
func stateOf(info *workflowpb.WorkflowExecutionInfo) workflows.RunState {
	var said workflows.RunState
	if p := info.GetSearchAttributes().GetIndexedFields()[workflows.StateAttribute.GetName()]; p != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &said) // what cannot be read says nothing
	}
	switch info.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		if said == workflows.Paused {
			return said
		}
		return workflows.Running
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		if said == workflows.Cancelled {
			return said
		}
		return workflows.Done
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return workflows.Cancelled
	}
	return workflows.Failed
}

// waitsFor is what a paused run says that it waits for.
func waitsFor(info *workflowpb.WorkflowExecutionInfo) *waiting {
	p := info.GetMemo().GetFields()[workflows.WaitingMemo]
	var w workflows.WaitingFor
	if p == nil || converter.GetDefaultDataConverter().FromPayload(p, &w) != nil || w.What == "" {
		return nil
	}
	return &waiting{w.What, w.Since, w.Why}
}

// rateWindow is how many updates the mean seconds of an update are taken over.
const rateWindow = 5

// rates reads the newest summaries.
func (o observer) rates(ctx context.Context, s *runStatus) error {
	seen, total := 0, 0.0
	for n := s.Update; n >= 0 && seen < rateWindow; n-- {
		_, u, err := store.FindJSON[rl.UpdateSummary](ctx, o.store, store.SummaryKey(o.run, n))
		if rl.KindOf(err) == rl.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if seen == 0 {
			s.Checkpoint = &checkpoint{u.Version, u.Checkpoint.SHA256}
			s.Seconds = u.Seconds
			if u.Watch != nil {
				s.Warnings = u.Watch.Standing
			}
			if u.Seconds.Rollout > 0 {
				s.Rates.TokensPerSecond, s.Rates.TurnsPerSecond = float64(u.Tokens)/u.Seconds.Rollout, float64(u.Turns)/u.Seconds.Rollout
			}
		}
		s.Events = append(u.Events, s.Events...)
		if n > 0 {
			seen, total = seen+1, total+u.Seconds.Total()
		} else if seen == 0 {
			break
		}
	}
	if seen > 0 {
		s.Rates.SecondsPerUpdate = total / float64(seen)
	}
	return nil
}

// best is the run's best evaluated version, nil when there is none.
func (o observer) best(ctx context.Context) (*checkpoint, error) {
	ref, err := o.store.Pointer(ctx, o.run, store.Best)
	if rl.KindOf(err) == rl.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := o.store.Checkpoint(ctx, ref)
	return &checkpoint{c.Version, ref.SHA256}, err
}

// failure is the failed run's own words.
func (o observer) failure(ctx context.Context) string {
	err := o.client.GetWorkflow(ctx, workflows.TrainID(o.run), "").Get(ctx, nil)
	if err == nil {
		return ""
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return fmt.Sprint(err)
		}
		err = next
	}
}
