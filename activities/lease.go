package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// backPatience is how long servers may take to have their GPU's memory filled again.
const backPatience = 5 * time.Minute

// loans are what servers are asked for where they share their GPU with updates, by policy.share_gpu, and what ends it. Both
// change nothing where it is done already.
var loans = map[string]struct {
	out, back func(*policy.Client, context.Context) error
}{
	"pause": {(*policy.Client).Pause, (*policy.Client).Resume},
	"sleep": {(*policy.Client).Sleep, (*policy.Client).Wake},
}

// lend has the policy servers give up their GPU for an update, where they share it, until back. When the stage is cut off, since
// its worker stops or its run is paused, back does nothing: the job goes on, and so does the loan, until the next attempt ends it,
// or CancelJob, or Publish.
func (a *Activities) lend(ctx context.Context, s Stage, st *store.Store, cfg rl.Config) (back func(), err error) {
	loan := loans[cfg.Policy.ShareGPU]
	if loan.out == nil {
		return func() {}, nil
	}
	client, err := a.policy(ctx, s, st, cfg)
	if err != nil {
		return nil, err
	}
	back = func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			return
		case <-ctx.Done():
			return
		default:
		}
		if err := endLoan(ctx, client, cfg); err != nil {
			a.log().Warn("the policy servers have not got their GPU back; its publication tries again", "run", s.Run, "update", s.Update, "why", err)
		}
	}
	if err := loan.out(client, ctx); err != nil {
		back() // some of them may have lent it
		return nil, err
	}
	return back, nil
}

// endLoan gives the policy servers their GPU again, whoever it was lent by.
func endLoan(ctx context.Context, client *policy.Client, cfg rl.Config) error {
	loan := loans[cfg.Policy.ShareGPU]
	if loan.back == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, backPatience)
	defer cancel()
	return loan.back(client, ctx)
}

// withdrawLoan ends the loan of the GPU that a job had, by the configuration that the job was made under: the run may have been given
// other policy servers since, and nobody else would think of the ones before. A server that says that it cannot be paused has lent
// nothing, and ones that are no longer the run's are asked once: they may be gone for good.
func (a *Activities) withdrawLoan(ctx context.Context, in Stage, st *store.Store, job string) error {
	_, spec, known, err := recorded[rl.UpdateSpec](ctx, st, store.JobSpecKey(job))
	if err != nil {
		return err
	}
	_, now, err := a.open(ctx, in)
	if err != nil {
		return err
	}
	lender := in
	if known {
		lender.Config = spec.Config
	}
	_, cfg, err := a.open(ctx, lender)
	if err != nil || loans[cfg.Policy.ShareGPU].back == nil {
		return err
	}
	client, err := a.policy(ctx, lender, st, cfg)
	if err != nil {
		return err
	}
	err = endLoan(ctx, client, cfg)
	if rl.KindOf(err) == rl.Refused || err != nil && cfg.Policy.URL != now.Policy.URL && ctx.Err() == nil {
		a.log().Warn("a policy server has not taken its GPU back", "run", in.Run, "update", in.Update, "share_gpu", cfg.Policy.ShareGPU, "why", err)
		return nil
	}
	return err
}

// enterLent is enter for an update on a GPU that is lent.
func (a *Activities) enterLent(ctx context.Context, s Stage, st *store.Store, cfg rl.Config) (leave func(), err error) {
	out, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	back, err := a.lend(ctx, s, st, cfg)
	if err != nil {
		out()
		return nil, err
	}
	return func() { back(); out() }, nil
}
