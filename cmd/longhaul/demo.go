package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// demoRun is the name of the demo's run.
const demoRun = rl.RunID("demo")

type demoFlags struct {
	fresh   bool
	seed    uint64
	updates int
	reward  string
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	c := a.jsonFlag(&cobra.Command{
		Use: "demo", Short: "Train a small agent from nothing, everything in this process", GroupID: groupStart,
		Long: "demo trains a small agent on the order desk: warm-up, reinforcement, and an evaluation on held-out tasks before and\n" +
			"after. Interrupt or kill it at any moment and run it again: it goes on where it was.",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), f) },
	})
	c.Flags().BoolVar(&f.fresh, "fresh", false, "forget an earlier demo and start over")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the run's seed (default: the one in `longhaul init`)")
	c.Flags().IntVar(&f.updates, "updates", 0, "updates to make (default 40)")
	c.Flags().StringVar(&f.reward, "reward", "", "what scores a trajectory (default exact)")
	return c
}

func (a *app) demo(ctx context.Context, flags demoFlags) error {
	cfg, err := demoConfig(flags)
	if err != nil {
		return err
	}
	if flags.fresh {
		if err := a.forget(ctx, cfg.Name); err != nil {
			return err
		}
	}
	err = a.train(ctx, cfg, false, func(c *conn) { a.introduce(c, cfg) }, func(f *follower, done doneEvent) error { return a.conclude(ctx, f, done) })
	if rl.KindOf(err) == rl.Conflict {
		return fmt.Errorf("%w\nUse --fresh to start over with these settings", err)
	}
	return err
}

func demoConfig(flags demoFlags) (rl.Config, error) {
	cfg, err := config.Default("orders")
	if err != nil {
		return cfg, err
	}
	cfg.Name = demoRun
	if flags.seed != 0 {
		cfg.Sampling.Seed = flags.seed
	}
	if flags.updates != 0 {
		cfg.Updates = flags.updates
	}
	if flags.reward != "" {
		cfg.Reward.Use = flags.reward
	}
	return config.Parse("the demo's settings", config.Commented(cfg), registered())
}

// introduce says what will be done, and why.
func (a *app) introduce(c *conn, cfg rl.Config) {
	a.out.say(`A small agent learns to work an order desk, everything in this process: Temporal, S3, the policy and its trainer.
  The task      "where is order 48?": find the order, track its box from box to box, answer the place. Calls may be "busy".
  The catch     a fragile order (6 in 10) pays only if its last box was inspected before the answer. Nobody says so:
                no prompt, no demonstration. Only trying, and being paid or not, can teach it.
  1. warm-up    the policy imitates demonstrations of the easiest orders: one box, never busy, never fragile
  2. %2d updates  each plays %d tasks %d times, compares the %d tries of a task (GRPO) and trains on what did better than its group
  3. before and after, %d held-out tasks are played, greedily and by sampling; no fact of theirs was ever trained on
Interrupt or kill it at any moment; the same command goes on where it was.%s
`, cfg.Updates, cfg.Group.PerUpdate, cfg.Group.Size, cfg.Group.Size, cfg.Eval.Tasks, whereToLook(c))
}

func whereToLook(c *conn) string {
	if c.process().TemporalUI == "" {
		return ""
	}
	return " Watch its workflows at " + c.process().TemporalUI
}

// conclude shows what was learnt: the curve, the evaluations, one task before and after, and what to try next.
func (a *app) conclude(ctx context.Context, f *follower, done doneEvent) error {
	before, _, err := f.evaluated(ctx, 0)
	if err != nil {
		return err
	}
	last := rl.UpdateNumber(f.config.Updates)
	after, _, err := f.evaluated(ctx, last)
	if err != nil {
		return err
	}
	curve, err := f.curve(ctx)
	if err != nil {
		return err
	}
	a.out.print("\n%s\n%s", curve, render.BeforeAfter(before, after))
	if err := a.beside(ctx, f, last); err != nil {
		return err
	}
	a.out.print(`
What reinforcement taught is the fragile rule; single hops and the wording of the calls come from the warm-up, and chains of
boxes and retries after "busy" became reliable on top of it.

Everything lies in %s: the checkpoint %s (manifest sha256 %.12s…), every trajectory, score, batch and ledger.
Three things to try next:
  longhaul show %s/%d           one update: its groups, scores and rewards; go down to a single turn
  longhaul verify %s           re-hashes every byte of the run
  longhaul init > run.yaml      a commented configuration to change; longhaul train -f run.yaml runs it
`, a.data, done.Checkpoint.Version, done.Checkpoint.SHA256, f.run, last, f.run)
	return nil
}

// curve draws the success of training episodes and of held-out tasks over the updates.
func (f *follower) curve(ctx context.Context) (string, error) {
	train := render.Series{Name: "training, sampled", Mark: '.'}
	held := render.Series{Name: "held out, the lower of greedy and sampled", Mark: 'O'}
	plan := workflows.PlanOf(f.config)
	for n := range rl.UpdateNumber(f.config.Updates + 1) {
		_, u, err := store.FindJSON[rl.UpdateSummary](ctx, f.store, store.SummaryKey(f.run, n))
		if err != nil {
			return "", err
		}
		if n > 0 {
			train.X, train.Y = append(train.X, int(n)), append(train.Y, u.Success)
		}
		if !plan.Evaluates(n) {
			continue
		}
		if e, ok, err := f.evaluated(ctx, n); err != nil {
			return "", err
		} else if ok {
			held.X, held.Y = append(held.X, int(n)), append(held.Y, e.Success())
		}
	}
	return render.Curve([]render.Series{train, held}, f.config.Updates, min(f.table.width, 90), 14, f.table.style), nil
}

// beside shows one held-out task that the first policy fails and the last one solves.
func (a *app) beside(ctx context.Context, f *follower, last rl.UpdateNumber) error {
	key := workflows.EvaluationKey(f.config)
	for i := range min(f.config.Eval.Tasks, f.config.Env.Tasks.Eval.Len()) {
		task := rl.TaskID(fmt.Sprintf("%s-%d", rl.Eval, f.config.Env.Tasks.Eval.First+i))
		after, err := f.store.Trajectory(ctx, store.EvaluationTrajectoryKey(f.run, last, key, activities.Greedy, task))
		if rl.KindOf(err) == rl.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		before, err := f.store.Trajectory(ctx, store.EvaluationTrajectoryKey(f.run, 0, key, activities.Greedy, task))
		if err != nil {
			return err
		}
		if after.Task.Kind != "fragile" || after.Outcome.Value < 1 || before.Outcome.Value >= 1 {
			continue
		}
		a.out.print("\nOne held-out task, before and after (%s, greedy):\n%s", task, render.Beside(render.Column{Title: "before", Episode: render.Episode{Trajectory: before}}, render.Column{Title: "after", Episode: render.Episode{Trajectory: after}}, min(a.out.width, 120), a.out.style))
		return nil
	}
	return nil
}
