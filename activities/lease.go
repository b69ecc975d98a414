package activities

import (
	"context"
	"time"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// backPatience is how long servers may take to have their GPU's memory filled again.
const backPatience = 5 * time.Minute

// lend has the policy servers give up the GPU that they share with update jobs, as policy.share_gpu says. back gives it to
// them again, once no job has it any more. Both change nothing where it is done already, so that a later attempt may ask for
// the same: when a worker dies in between, the next attempt's back, or Publish, ends the loan.
func (a *Activities) lend(ctx context.Context, s Stage, st *store.Store, cfg rl.Config) (back func(context.Context) error, err error) {
	loan := loans[cfg.Policy.ShareGPU]
	if loan.out == nil {
		return func(context.Context) error { return nil }, nil
	}
	client, err := a.policy(ctx, s, st, cfg)
	if err != nil {
		return nil, err
	}
	back = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backPatience)
		defer cancel()
		return loan.back(client, ctx)
	}
	return back, loan.out(client, ctx)
}

// loans are the ways of sharing a GPU.
var loans = map[string]struct {
	out, back func(*policy.Client, context.Context) error
}{
	"pause": {(*policy.Client).Pause, (*policy.Client).Resume},
	"sleep": {(*policy.Client).Sleep, (*policy.Client).Wake},
}
