package main

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/workers"
)

// look finds the stage under way, how far it is, and whether it waits for something that failed.
func (o observer) look(ctx context.Context, s *runStatus, of *workflowservice.DescribeWorkflowExecutionResponse) {
	told := reports{}
	again := o.pending(ctx, s, of, told)
	left := 0
	for _, c := range of.PendingChildren {
		s.Stage = c.WorkflowTypeName
		d, err := o.client.DescribeWorkflowExecution(ctx, c.WorkflowId, c.RunId)
		if err != nil {
			continue // it may end between the two questions
		}
		if tried := o.pending(ctx, s, d, told); again == nil {
			again = tried
		}
		for _, a := range d.PendingActivities {
			if a.ActivityType.GetName() == "RunTrajectory" {
				left++
			}
		}
	}
	if s.Servers = told.servers(); s.WaitingFor == nil && again != nil && nobodyServes(s.Servers) {
		s.WaitingFor = o.waits(ctx, again)
	}
	if s.Progress == nil && left > 0 {
		s.Progress = &progress{What: "rollout activities left", Done: left}
	}
}

// failedTry is an activity whose last attempt failed.
type failedTry struct {
	of *commonpb.WorkflowExecution
	*workflowpb.PendingActivityInfo
}

// pending looks at a workflow's activities. It returns a rollout that failed and is at work again, nil where none is: what
// it asks may still be away.
func (o observer) pending(ctx context.Context, s *runStatus, of *workflowservice.DescribeWorkflowExecutionResponse, told reports) (again *failedTry) {
	for _, a := range of.PendingActivities {
		if s.Stage == "" {
			s.Stage = a.ActivityType.GetName()
		}
		if p := decodeProgress(a.HeartbeatDetails); p != nil {
			s.Progress, s.Job = &progress{p.What, p.Done, p.Total}, p.Job
		}
		told.take(a)
		failed := a.Attempt > 1 && a.LastFailure != nil && a.LastFailure.GetApplicationFailureInfo().GetType() != workers.Lost
		switch {
		case failed && a.State == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && s.WaitingFor == nil:
			s.Job = nil // what it told of its job is of the attempt before
			s.WaitingFor = o.waits(ctx, &failedTry{of.WorkflowExecutionInfo.Execution, a})
		case failed && a.ActivityType.GetName() == "RunTrajectory":
			again = &failedTry{of.WorkflowExecutionInfo.Execution, a}
		}
	}
	return again
}

func (o observer) waits(ctx context.Context, a *failedTry) *waiting {
	return &waiting{What: a.ActivityType.GetName(), Since: o.firstScheduled(ctx, a), Why: a.LastFailure.Message}
}

// firstScheduled is when an activity was asked for, from its workflow's history: a pending activity knows the time of
// its newest attempt alone. Where the history cannot be read it is the end of the attempt before.
func (o observer) firstScheduled(ctx context.Context, a *failedTry) time.Time {
	key := a.of.RunId + "/" + a.ActivityId
	if t, ok := o.scheduled[key]; ok {
		return t
	}
	for events := o.client.GetWorkflowHistory(ctx, a.of.WorkflowId, a.of.RunId, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			break
		}
		if e.GetActivityTaskScheduledEventAttributes().GetActivityId() == a.ActivityId {
			o.scheduled[key] = e.EventTime.AsTime()
			return o.scheduled[key]
		}
	}
	return a.LastAttemptCompleteTime.AsTime()
}

func decodeProgress(details *commonpb.Payloads) *activities.Progress {
	var p activities.Progress
	if details == nil || converter.GetDefaultDataConverter().FromPayloads(details, &p) != nil || p.Total == 0 {
		return nil
	}
	return &p
}
