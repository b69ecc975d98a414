package workers

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Steer gives a run a command (workflows.Pause, Resume or Cancel) and returns once it has come to the safe point that
// this asks for, and says which it is. A worker of its control queue must be there. Once the run has accepted the command,
// which accepted (may be nil) is told, it follows it, whatever is killed and whoever stops waiting. Errors: NotFound when no such run is under way, Invalid or
// Conflict when the run refuses, Unavailable when Temporal does not answer.
func Steer(ctx context.Context, c client.Client, run rl.RunID, name string, command workflows.Command, accepted func()) (at workflows.Standing, err error) {
	h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.TrainID(run), UpdateName: name, Args: []any{command}, WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if err == nil {
		if accepted != nil {
			accepted()
		}
		err = h.Get(ctx, &at)
	}
	return at, steeringError(run, err)
}

func steeringError(run rl.RunID, err error) error {
	at := "run " + string(run)
	if err == nil {
		return nil
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return rl.Errorf(rl.NotFound, at, "it is not under way; `longhaul status %s` says how it stands", run)
	}
	if e, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return rl.Errorf(activities.KindOf(err), at, "%s", e.Message())
	}
	return err
}
