package workers

import (
	"context"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// scheduled has the activity of scheduled starts. It is here, and not among the stages, since it does what a launch by
// hand does.
type scheduled struct {
	open func(ctx context.Context, uri string) (*store.Store, error)
}

// prepare records the configuration of the run that a schedule is about to start, or finds the version that it is about
// to evaluate. Done twice, it is the same run.
func (s scheduled) prepare(ctx context.Context, in workflows.PrepareIn) (workflows.Prepared, error) {
	p, err := s.prepared(ctx, in)
	return p, activities.TemporalError(ctx, err)
}

func (s scheduled) prepared(ctx context.Context, in workflows.PrepareIn) (p workflows.Prepared, err error) {
	st, err := s.open(ctx, in.Store)
	if err != nil {
		return p, err
	}
	what, err := store.GetJSON[rl.Schedule](ctx, st, in.Schedule)
	if err != nil {
		return p, err
	}
	p.Store = in.Store
	if what.Run == nil {
		return p, s.evaluation(ctx, st, what.Evaluate, &p)
	}
	cfg := *what.Run
	cfg.Name = rl.ScheduledRun(cfg.Name, in.Due)
	p.Run = cfg.Name
	if p.Config, cfg, err = recordConfig(ctx, st, cfg); err != nil {
		return p, err
	}
	plan := workflows.PlanOf(cfg)
	p.Plan = &plan
	return p, nil
}

// evaluation fills in which version of a run is evaluated, and how.
func (s scheduled) evaluation(ctx context.Context, st *store.Store, name string, p *workflows.Prepared) (err error) {
	if p.Run, p.Update, err = evaluatedVersion(ctx, st, name); err != nil {
		return err
	}
	ref, cfg, err := st.Config(ctx, p.Run)
	p.Config, p.Evaluation, p.EpisodeTimeout = ref, workflows.EvaluationKey(cfg), time.Duration(cfg.Env.EpisodeTimeout)
	return err
}

// evaluatedVersion reads RUN (its newest version), RUN@best or RUN@VERSION. Errors: NotFound, Invalid.
func evaluatedVersion(ctx context.Context, st *store.Store, name string) (rl.RunID, rl.UpdateNumber, error) {
	run, version, given := strings.Cut(name, "@")
	if !given {
		version = store.Latest
	}
	if version != store.Latest && version != store.Best {
		return rl.Version(name).Parse()
	}
	ref, err := st.Pointer(ctx, rl.RunID(run), version)
	if rl.KindOf(err) == rl.NotFound {
		return "", 0, rl.Errorf(rl.NotFound, "run "+run, "it has no checkpoint that is the %s", version)
	}
	if err != nil {
		return "", 0, err
	}
	c, err := st.Checkpoint(ctx, ref)
	return c.Run, c.Update, err
}
