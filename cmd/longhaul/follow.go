package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/activities"
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
	Update     rl.UpdateNumber    `json:"update"`
	Updates    int                `json:"updates"`
	WaitingFor *waiting           `json:"waiting_for"`
	Checkpoint *checkpoint        `json:"checkpoint"`
	Best       *workflows.Best    `json:"best"`
	Rates      rates              `json:"rates"`
	Seconds    rl.Seconds         `json:"seconds"` // of the last finished update
	ETA        *time.Time         `json:"eta"`
	Events     []rl.Event         `json:"events,omitempty"`
	Failure    string             `json:"failure,omitempty"`
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
	// waiting is a stage that failed and will be tried again.
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
}

// queryTimeout bounds a question to the run's worker, which may not be there to answer.
const queryTimeout = 3 * time.Second

// status is NotFound when there is no such run. A run whose worker is not there to answer is described by what is
// stored.
func (o observer) status(ctx context.Context) (s runStatus, err error) {
	s = runStatus{Run: o.run, State: workflows.Running}
	described, err := o.client.DescribeWorkflowExecution(ctx, workflows.TrainID(o.run), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return s, rl.Errorf(rl.NotFound, "run "+string(o.run), "no such run; `longhaul runs` lists them")
	}
	if err != nil {
		return s, err
	}
	if err := o.ask(ctx, &s); err != nil {
		return s, err
	}
	switch info := described.WorkflowExecutionInfo; info.Status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		o.look(ctx, &s, described.PendingActivities, described.PendingChildren)
		if s.Rates.SecondsPerUpdate > 0 {
			left := float64(s.Updates-int(s.Update)+1) * s.Rates.SecondsPerUpdate
			eta := time.Now().Add(time.Duration(left * float64(time.Second))).UTC().Truncate(time.Second)
			s.ETA = &eta
		}
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		s.State, s.Stage = workflows.Done, ""
	default:
		s.State, s.Stage = workflows.Failed, ""
		s.Failure = o.failure(ctx)
	}
	return s, nil
}

// ask fills in what Train itself knows, and the rates from the newest summaries.
func (o observer) ask(ctx context.Context, s *runStatus) error {
	asking, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var q workflows.Status
	answer, err := o.client.QueryWorkflow(asking, workflows.TrainID(o.run), "", workflows.StatusQuery)
	if err == nil {
		err = answer.Get(&q)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := rl.UpdateNumber(-1)
	if err == nil {
		s.Stage, s.Update, s.Updates, s.Seconds, s.Best, s.Events = q.Stage, q.Update, q.Updates, q.Seconds, q.Best, q.Events
		last = q.Update
	} else { // no worker: the store knows what is finished
		_, cfg, err := store.FindJSON[rl.Config](ctx, o.store, store.ConfigKey(o.run))
		if err != nil {
			return err
		}
		s.Updates, s.Stage = cfg.Updates, "no worker answers"
		last = rl.UpdateNumber(cfg.Updates)
	}
	return o.rates(ctx, s, last)
}

// rateWindow is how many updates the mean seconds of an update are taken over.
const rateWindow = 5

// rates reads the newest summaries, from update `from` down.
func (o observer) rates(ctx context.Context, s *runStatus, from rl.UpdateNumber) error {
	seen, total := 0, 0.0
	for n := from; n >= 0 && seen < rateWindow; n-- {
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
			s.Update = max(s.Update, n)
			if u.Seconds.Rollout > 0 {
				s.Rates.TokensPerSecond, s.Rates.TurnsPerSecond = float64(u.Tokens)/u.Seconds.Rollout, float64(u.Turns)/u.Seconds.Rollout
			}
		}
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

// look finds how far the stage under way is, and whether it waits for something that failed.
func (o observer) look(ctx context.Context, s *runStatus, pending []*workflowpb.PendingActivityInfo, children []*workflowpb.PendingChildExecutionInfo) {
	o.pending(s, pending)
	left, total := 0, 0
	for _, c := range children {
		d, err := o.client.DescribeWorkflowExecution(ctx, c.WorkflowId, c.RunId)
		if err != nil {
			continue // it may end between the two questions
		}
		o.pending(s, d.PendingActivities)
		for _, a := range d.PendingActivities {
			if a.ActivityType.GetName() == "RunTrajectory" {
				left++
			}
		}
		total = max(total, left)
	}
	if s.Progress == nil && total > 0 {
		s.Progress = &progress{What: "rollout activities left", Done: left}
	}
}

func (o observer) pending(s *runStatus, activities []*workflowpb.PendingActivityInfo) {
	for _, a := range activities {
		if p := decodeProgress(a.HeartbeatDetails); p != nil {
			s.Progress = p
		}
		if a.Attempt > 1 && a.LastFailure != nil && a.LastFailure.GetApplicationFailureInfo().GetType() != "WorkerLost" && s.WaitingFor == nil {
			s.WaitingFor = &waiting{What: a.ActivityType.GetName(), Since: a.ScheduledTime.AsTime(), Why: a.LastFailure.Message}
		}
	}
}

func decodeProgress(details *commonpb.Payloads) *progress {
	var p activities.Progress
	if details == nil || converter.GetDefaultDataConverter().FromPayloads(details, &p) != nil || p.Total == 0 {
		return nil
	}
	return &progress{p.What, p.Done, p.Total}
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
