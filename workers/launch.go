package workers

import (
	"context"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Launch starts the run that cfg describes, or attaches to it when it is running or done. A run that failed goes on
// from its newest checkpoint. It is a Conflict when a run of that name exists with another configuration; the
// error lists the differences, and when one of that name is at work on another store.
func Launch(ctx context.Context, c client.Client, st *store.Store, uri string, cfg rl.Config) (run client.WorkflowRun, err error) {
	p := place{c, workflows.TrainID(cfg.Name), st.String()}
	here, err := p.free(ctx) // before anything is written to a store that the run does not lie in
	if err != nil {
		return nil, err
	}
	ref, cfg, err := recordConfig(ctx, st, cfg)
	if err != nil {
		return nil, err
	}
	whole, err := complete(ctx, st, cfg)
	if err != nil {
		return nil, err
	}
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY
	if !whole || !here { // Temporal may remember a run of this name that the store does not
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return p.start(ctx, reuse, workflows.Train, workflows.TrainIn{Logic: workflows.LogicVersion, Run: cfg.Name, Store: uri, Config: ref, Plan: workflows.PlanOf(cfg)})
}

// LaunchEvaluation starts the evaluation of a run's version n under a key, or attaches to it; the run's configuration cfg
// lies at ref. The key is workflows.EvaluationKey's for the configuration's own held-out tasks; others are recorded under
// theirs beforehand. It is a Conflict when the same evaluation is at work on another store.
func LaunchEvaluation(ctx context.Context, c client.Client, st *store.Store, uri string, cfg rl.Config, ref rl.Ref, n rl.UpdateNumber, key string) (client.WorkflowRun, error) {
	p := place{c, workflows.EvaluateID(rl.VersionOf(cfg.Name, n), key), st.String()}
	return p.start(ctx, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, workflows.Evaluate, workflows.EvaluateIn{
		Stage:          activities.Stage{Run: cfg.Name, Store: uri, Config: ref, Update: n, Evaluation: key},
		EpisodeTimeout: time.Duration(cfg.Env.EpisodeTimeout),
	})
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

// recordConfig writes the run's configuration once, and compares it with what is recorded: the one that the run was started with,
// or what it was changed to since, which is what the run goes on with.
func recordConfig(ctx context.Context, st *store.Store, cfg rl.Config) (rl.Ref, rl.Config, error) {
	key := store.ConfigKey(cfg.Name)
	cfg.Store = "" // where a run lies is not part of what it is
	from := cfg.From
	var others []string
	_, err := st.Head(ctx, key)
	if rl.KindOf(err) == rl.NotFound {
		cfg.From, others, err = resolveAll(ctx, st, cfg)
	}
	if err != nil {
		return rl.Ref{}, cfg, err
	}
	ref, _, err := store.PutJSON(ctx, st, key, cfg)
	if err != nil {
		return rl.Ref{}, cfg, err
	}
	was, err := st.ConfigAt(ctx, ref)
	if err != nil {
		return rl.Ref{}, cfg, err
	}
	if s, err := rl.ParseStart(from); err == nil && s.Meets(was.From) {
		cfg.From = was.From // it was resolved once, when the run was first launched
	}
	now, changed, err := st.Config(ctx, cfg.Name)
	if err != nil {
		return rl.Ref{}, cfg, err
	}
	if diff := config.Diff(cfg, changed); len(diff) > 0 && len(config.Diff(cfg, was)) > 0 {
		return rl.Ref{}, cfg, rl.Errorf(rl.Conflict, "run "+string(cfg.Name), "it exists with another configuration:\n  %s\nGive this one another name, or change that one with `longhaul set`", strings.Join(diff, "\n  "))
	}
	if len(others) > 0 { // from now on gc keeps them for the run
		err = st.Referred(ctx, key, others...)
	}
	return now, changed, err
}
