package workers

import (
	"context"

	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Set changes a run's configuration, from that at `from`, to cfg, and returns once the change has taken effect: before the run's
// next update, or at once where it is paused. text says in words what is changed. Errors: as Steer's; Conflict, too, when somebody
// else has changed the run since `from`.
func Set(ctx context.Context, c client.Client, st *store.Store, cfg rl.Config, from rl.Ref, by workflows.Command, text string) (at workflows.Standing, err error) {
	if _, err := referenceOf(ctx, st, cfg); err != nil { // gc may have retired version 0 before the loss asked for it
		return at, err
	}
	ref, err := st.PutConfig(ctx, cfg)
	if err != nil {
		return at, err
	}
	setting := workflows.Setting{Command: by, Text: text, Config: ref, From: from, Plan: workflows.PlanOf(cfg)}
	h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.TrainID(cfg.Name), UpdateName: workflows.Set, Args: []any{setting}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(ctx, &at)
	}
	return at, steeringError(cfg.Name, err)
}
