package workers

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// storeMemo is the key of a workflow's memo that holds its store. A workflow's id names the run alone, and the same
// name may be used on two stores.
const storeMemo = workflows.StoreMemo

// place is a workflow, by its id, on the store that it must lie in.
type place struct {
	client client.Client
	id     string
	store  string
}

// free is a Conflict when the workflow runs on another store. here reports whether the newest workflow of this id,
// running or ended, is of this store; one that does not say is taken to be.
func (p place) free(ctx context.Context) (here bool, err error) {
	d, err := p.client.DescribeWorkflowExecution(ctx, p.id, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", p.id, err)
	}
	was := p.store
	if m := d.WorkflowExecutionInfo.GetMemo().GetFields()[storeMemo]; m != nil {
		if err := converter.GetDefaultDataConverter().FromPayload(m, &was); err != nil {
			return false, fmt.Errorf("memo of %s: %w", p.id, err)
		}
	}
	if was != p.store && d.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return false, rl.Errorf(rl.Conflict, p.id, "it runs on the store %s, not on %s: take another name, or wait for its end", was, p.store)
	}
	return was == p.store, nil
}

// start starts the workflow, or attaches to the one that runs, or that ended as reuse says. What it attaches to is
// looked at again: another process may have been faster.
func (p place) start(ctx context.Context, reuse enumspb.WorkflowIdReusePolicy, workflow, in any) (client.WorkflowRun, error) {
	run, err := p.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: p.id, TaskQueue: workflows.ControlQueue, Memo: map[string]any{storeMemo: p.store},
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: reuse,
	}, workflow, in)
	if _, done := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); done {
		run, err = p.client.GetWorkflow(ctx, p.id, ""), nil
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.id, err)
	}
	_, err = p.free(ctx)
	return run, err
}
