package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// demoRun is the name of the demo's run.
const demoRun = rl.RunID("demo")

// demoFlags are what was asked for; nil: not asked for.
type demoFlags struct {
	fresh   bool
	seed    *uint64
	updates *int
	reward  *string
	judge   *string // URL of its server
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	var seed uint64
	var updates int
	var reward, judge string
	c := a.jsonFlag(&cobra.Command{
		Use: "demo", Short: "Train a small agent from nothing, everything in this process", GroupID: groupStart,
		Long: "demo trains a small agent on the order desk: warm-up, reinforcement, and an evaluation on held-out tasks before and\n" +
			"after. Interrupt or kill it at any moment and run it again: it goes on where it was.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			for name, set := range map[string]func(){
				"seed": func() { f.seed = &seed }, "updates": func() { f.updates = &updates }, "reward": func() { f.reward = &reward },
				"judge-url": func() { f.judge = &judge },
			} {
				if given(name) {
					set()
				}
			}
			if f.judge != nil && reward != "judge" {
				return usagef("--judge-url is the server of --reward judge; give both")
			}
			if f.judge == nil && reward == "judge" {
				return usagef("--reward judge: name its server with --judge-url; `longhaul judge simulate` is one without a model")
			}
			return a.demo(cmd.Context(), f)
		},
	})
	c.Flags().BoolVar(&f.fresh, "fresh", false, "forget an earlier demo and start over")
	c.Flags().Uint64Var(&seed, "seed", 0, "the run's seed (default: that of longhaul init)")
	c.Flags().IntVar(&updates, "updates", 0, "updates to make; 0 evaluates the warm-up alone (default 40, with a judge 60)")
	c.Flags().StringVar(&reward, "reward", "", "exact: the desk's own score; judge: an LLM compares the tries of a task (default exact)")
	c.Flags().StringVar(&judge, "judge-url", "", "with --reward judge: base URL of an OpenAI-compatible server, with /v1; its key: "+judgeKeyEnv)
	return c
}

func (a *app) demo(ctx context.Context, flags demoFlags) error {
	cfg, err := a.demoConfig(ctx, flags)
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

// judgeKeyEnv is where the demo looks for the judge's key.
const judgeKeyEnv = "LONGHAUL_JUDGE_API_KEY"

func (a *app) demoConfig(ctx context.Context, flags demoFlags) (rl.Config, error) {
	cfg, err := config.Default("orders")
	if err != nil {
		return cfg, err
	}
	cfg.Name = demoRun
	if flags.seed != nil {
		cfg.Sampling.Seed = *flags.seed
	}
	if flags.updates != nil {
		cfg.Updates = *flags.updates
	}
	if flags.reward != nil {
		if *flags.reward == "" {
			return cfg, usagef("--reward: name a reward, exact or judge")
		}
		cfg.Reward.Use = *flags.reward
	}
	if flags.judge != nil {
		if flags.updates == nil {
			cfg.Updates += cfg.Updates / 2 // one that errs teaches more slowly
		}
		if err := a.demoJudge(ctx, &cfg, *flags.judge); err != nil {
			return cfg, err
		}
	}
	return config.Parse("the demo's settings", config.Commented(cfg), registered())
}

// demoJudge asks the judge at a URL, with the first model that its server has.
func (a *app) demoJudge(ctx context.Context, cfg *rl.Config, url string) error {
	cfg.Reward.URL, cfg.Reward.Concurrency = url, 1
	if a.getenv(judgeKeyEnv) != "" {
		cfg.Reward.APIKeyEnv = judgeKeyEnv
	}
	models, err := reward.NewClient(cfg.Reward, a.getenv(judgeKeyEnv), nil).Models(ctx)
	if err != nil {
		return err
	}
	cfg.Reward.Model, cfg.Reward.Concurrency = models[0], 0
	return nil
}

// introduce says what will be done, and why.
func (a *app) introduce(c *conn, cfg rl.Config) {
	a.out.say(`A small agent learns to work an order desk, everything in this process: Temporal, S3, its policy.
  The task      "where is order 48?": find the order, track its box from box to box, answer the
                place. Calls may be "busy".
  The catch     a fragile order (6 in 10) pays only if its last box was inspected before the answer.
                Nobody says so: no prompt, no demonstration. Only trying, and being paid or not, can
                teach it.
  1. warm-up    the policy imitates demonstrations of the easiest orders: one box, never busy, never
                fragile
%s
Interrupt or kill it at any moment; the same command goes on where it was.%s
`, afterWarmUp(cfg), whereToLook(c))
}

func afterWarmUp(cfg rl.Config) string {
	if cfg.Updates == 0 {
		return fmt.Sprintf("  2. evaluation %d held-out tasks are played, greedily and by sampling; without updates that is all", cfg.Eval.Tasks)
	}
	return fmt.Sprintf(`  2. %d updates each plays %d tasks %d times, compares the %d tries of a task (GRPO), and trains on
                what did better than its group
  3. before and %d held-out tasks are played, greedily and by sampling; no fact of theirs was ever
     after      trained on`,
		cfg.Updates, cfg.Group.PerUpdate, cfg.Group.Size, cfg.Group.Size, cfg.Eval.Tasks)
}

func whereToLook(c *conn) string {
	if c.process().TemporalUI == "" {
		return ""
	}
	return "\nIts workflows: " + c.process().TemporalUI
}
