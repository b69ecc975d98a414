package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	tokenspb "go.temporal.io/server/api/token/v1"
	"go.temporal.io/server/common/tasktoken"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/longhaul-rl/longhaul/rl"
)

// WorkerLost is the type of the retryable failure that FailOrphans gives to an activity.
const WorkerLost = "WorkerLost"

// FailOrphans fails, retryably, every task that a dead predecessor of this process had started, in the given
// workflows and their children: activities, and workflows' own tasks. It returns how many. Call it after Start
// and before any worker of this directory starts: then nobody can be at one of them, since the lock is held. It
// replaces the wait for an activity's heartbeat timeout and for a workflow task's 10 s.
//
// It walks down from the roots, since the server's listing lags behind after a crash: name the workflows you
// know. A root that does not exist or has ended is passed over; without any, every open workflow listed is one.
//
// Errors: Refused when the Temporal server is not the embedded one: others may have workers there.
func (d *Dev) FailOrphans(ctx context.Context, c client.Client, roots ...string) (int, error) {
	if d.process.Temporal == "" {
		return 0, rl.Errorf(rl.Refused, "temporal", "tasks are failed on the embedded server only: on a shared one their workers may live")
	}
	ns, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
	if err != nil {
		return 0, err
	}
	if len(roots) == 0 {
		if roots, err = openRoots(ctx, c); err != nil {
			return 0, err
		}
	}
	w := walk{client: c, namespaceID: ns.GetNamespaceInfo().GetId(), slots: make(chan struct{}, 8)}
	for _, id := range roots {
		w.wait.Go(func() { w.visit(ctx, id, "") })
	}
	w.wait.Wait()
	return w.failed, errors.Join(w.errs...)
}

// openRoots lists the running workflows that are nobody's child.
func openRoots(ctx context.Context, c client.Client) (ids []string, err error) {
	req := &workflowservice.ListWorkflowExecutionsRequest{Namespace: Namespace, Query: "ExecutionStatus = 'Running'"}
	for {
		page, err := c.ListWorkflow(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			if e.GetParentExecution() == nil {
				ids = append(ids, e.GetExecution().GetWorkflowId())
			}
		}
		if req.NextPageToken = page.GetNextPageToken(); len(req.NextPageToken) == 0 {
			return ids, nil
		}
	}
}

// walk is one pass over a tree of workflows.
type walk struct {
	client      client.Client
	namespaceID string
	slots       chan struct{} // bounds the workflows looked at at once
	wait        sync.WaitGroup

	mu     sync.Mutex
	failed int
	errs   []error
}

// visit fails what is started in one workflow execution and goes on to its children.
func (w *walk) visit(ctx context.Context, id, run string) {
	w.slots <- struct{}{}
	defer func() { <-w.slots }()
	d, err := w.client.DescribeWorkflowExecution(ctx, id, run)
	if err != nil {
		w.count(id, err, false)
		return
	}
	for _, child := range d.GetPendingChildren() {
		w.wait.Go(func() { w.visit(ctx, child.WorkflowId, child.RunId) })
	}
	run = d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	for _, a := range d.GetPendingActivities() {
		switch a.State {
		case enumspb.PENDING_ACTIVITY_STATE_STARTED:
			w.count(id, w.failActivity(ctx, id, run, a), true)
		case enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED: // it would not be tried again: it has ended as was asked
			w.count(id, w.endActivity(ctx, id, run, a), true)
		}
	}
	if t := d.GetPendingWorkflowTask(); t.GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_STARTED {
		w.count(id, w.failWorkflowTask(ctx, id, run, t), true)
	}
}

// count adds a failed task or an error. Not found is neither: the workflow or the task has ended.
func (w *walk) count(id string, err error, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return
	}
	if err != nil {
		w.errs = append(w.errs, fmt.Errorf("workflow %s: %w", id, err))
	} else if failed {
		w.failed++
	}
}

func (w *walk) failActivity(ctx context.Context, id, run string, a *workflowpb.PendingActivityInfo) error {
	_, err := w.client.WorkflowService().RespondActivityTaskFailedById(ctx, &workflowservice.RespondActivityTaskFailedByIdRequest{
		Namespace: Namespace, WorkflowId: id, RunId: run, ActivityId: a.ActivityId, Identity: identity(),
		Failure: &failurepb.Failure{
			Message: "worker " + a.LastWorkerIdentity + " is gone",
			Source:  "longhaul",
			FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{
				Type:           WorkerLost,
				NextRetryDelay: durationpb.New(time.Millisecond), // 0 would mean the retry policy's own
			}},
		},
	})
	return err
}

// endActivity says that an activity whose workflow asked it to end has ended.
func (w *walk) endActivity(ctx context.Context, id, run string, a *workflowpb.PendingActivityInfo) error {
	_, err := w.client.WorkflowService().RespondActivityTaskCanceledById(ctx, &workflowservice.RespondActivityTaskCanceledByIdRequest{
		Namespace: Namespace, WorkflowId: id, RunId: run, ActivityId: a.ActivityId, Identity: identity(),
	})
	return err
}

// failWorkflowTask builds the token that the lost worker had been given with the task. The server compares
// only what is set in it; the format belongs to the server version that this program is built with.
func (w *walk) failWorkflowTask(ctx context.Context, id, run string, t *workflowpb.PendingWorkflowTaskInfo) error {
	scheduled, err := w.scheduledEvent(ctx, id, run)
	if err != nil || scheduled == 0 {
		return err
	}
	token, err := tasktoken.NewSerializer().Serialize(&tokenspb.Task{
		NamespaceId: w.namespaceID, WorkflowId: id, RunId: run, ScheduledEventId: scheduled, Attempt: t.GetAttempt(),
	})
	if err != nil {
		return err
	}
	_, err = w.client.WorkflowService().RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{
		Namespace: Namespace, TaskToken: token, Identity: identity(),
		Cause:   enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
		Failure: &failurepb.Failure{Message: "the worker is gone", Source: "longhaul"},
	})
	return err
}

// scheduledEvent is the id of the event that scheduled the current workflow task, one of the last in history.
// It is 0 for a task that was tried before, which leaves no event: its timeout stands.
func (w *walk) scheduledEvent(ctx context.Context, id, run string) (int64, error) {
	h, err := w.client.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run}, MaximumPageSize: 100,
	})
	for _, e := range h.GetHistory().GetEvents() {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
			return e.GetEventId(), nil
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			return 0, nil
		}
	}
	return 0, err
}

func identity() string { return fmt.Sprintf("longhaul@%d", os.Getpid()) }
