package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Launch starts the run that cfg describes, or attaches to it when it is running or done. A run that failed goes on
// from its newest checkpoint. It is a Conflict when a run of that name exists with another configuration; the
// error lists the differences.
func Launch(ctx context.Context, c client.Client, st *store.Store, uri string, cfg rl.Config) (run client.WorkflowRun, err error) {
	ref, err := recordConfig(ctx, st, cfg)
	if err != nil {
		return nil, err
	}
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	if whole, err := complete(ctx, st, cfg); err != nil {
		return nil, err
	} else if !whole { // Temporal may remember a run of this name that the store does not
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	run, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       workflows.TrainID(cfg.Name),
		TaskQueue:                workflows.ControlQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    reuse,
	}, workflows.Train, workflows.TrainIn{Logic: workflows.LogicVersion, Run: cfg.Name, Store: uri, Config: ref, Plan: workflows.PlanOf(cfg)})
	if _, done := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); done {
		return c.GetWorkflow(ctx, workflows.TrainID(cfg.Name), ""), nil
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", workflows.TrainID(cfg.Name), err)
	}
	return run, nil
}

// complete reports whether the store has all that the run's last update leaves: its checkpoint, its summary and, when
// due, its evaluation.
func complete(ctx context.Context, st *store.Store, cfg rl.Config) (bool, error) {
	last := rl.UpdateNumber(cfg.Updates)
	ref, err := st.Pointer(ctx, cfg.Name, store.Latest)
	if lacking(err) {
		return false, nil
	}
	if err != nil || ref.Key != store.CheckpointKey(cfg.Name, last) {
		return false, err
	}
	keys := []string{store.SummaryKey(cfg.Name, last)}
	if plan := workflows.PlanOf(cfg); plan.Evaluates(last) {
		keys = append(keys, store.EvaluationKey(cfg.Name, last, plan.EvalKey))
	}
	for _, key := range keys {
		if _, err := st.Head(ctx, key); lacking(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// lacking says that an object is not there, or as good as not there.
func lacking(err error) bool {
	k := rl.KindOf(err)
	return k == rl.NotFound || k == rl.Corrupt
}

// recordConfig writes the run's configuration once, and compares it with what is recorded.
func recordConfig(ctx context.Context, st *store.Store, cfg rl.Config) (rl.Ref, error) {
	key := store.ConfigKey(cfg.Name)
	cfg.Store = "" // where a run lies is not part of what it is
	ref, was, err := store.PutJSON(ctx, st, key, cfg)
	if err != nil {
		return rl.Ref{}, err
	}
	if diff := config.Diff(cfg, was); len(diff) > 0 {
		return rl.Ref{}, rl.Errorf(rl.Conflict, "run "+string(cfg.Name), "it exists with another configuration:\n  %s", strings.Join(diff, "\n  "))
	}
	return ref, nil
}
