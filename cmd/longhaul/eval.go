package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) evalCommand() *cobra.Command {
	var file string
	c := a.jsonFlag(&cobra.Command{
		Use: "eval RUN[@VERSION] [--tasks FILE]", Short: "Play held-out tasks with a version: success with its 95 % interval", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "eval plays the run's held-out tasks (eval.tasks), greedily and by sampling, with the newest version or the one named:\n" +
			"orders-1, orders-1@12, orders-1@best. With --tasks it plays the held-out tasks that FILE lists, one index a line.\n" +
			"The result is kept: asked again, it is only read.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := a.host(cmd.Context(), want{}, true)
			if err != nil {
				return err
			}
			defer h.Close()
			e, err := a.evaluate(cmd.Context(), h.conn, args[0], file)
			if err != nil && cmd.Context().Err() != nil {
				a.out.say("Stopping. Nothing is lost: the same command goes on where this one stopped.")
			}
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(e)
			}
			a.out.print("%s\n", render.Evaluation(e))
			return nil
		},
	})
	c.Flags().StringVar(&file, "tasks", "", "file with indices of held-out tasks, one a line (default: eval.tasks of the run)")
	return c
}

func (a *app) evaluate(ctx context.Context, c *conn, name, file string) (rl.Evaluation, error) {
	run, n, err := versionNamed(ctx, c, name)
	if err != nil {
		return rl.Evaluation{}, err
	}
	ref, cfg, err := c.Store.Config(ctx, run)
	if err != nil {
		return rl.Evaluation{}, err
	}
	version, key := rl.VersionOf(run, n), workflows.EvaluationKey(cfg)
	tasks := cfg.Eval.Tasks
	if file != "" {
		if key, tasks, err = recordTasks(ctx, c.Store, cfg, n, file); err != nil {
			return rl.Evaluation{}, err
		}
	}
	_, e, err := store.FindJSON[rl.Evaluation](ctx, c.Store, store.EvaluationKey(run, n, key))
	if rl.KindOf(err) != rl.NotFound {
		return e, err
	}
	a.out.say("playing %d held-out tasks with %s, twice each", tasks, version)
	w, err := workers.LaunchEvaluation(ctx, c.Temporal, c.Store, c.URI, cfg, ref, n, key)
	if err != nil {
		return e, err
	}
	var out activities.ScoreEvaluationOut
	if err := w.Get(ctx, &out); err != nil {
		return e, fmt.Errorf("evaluating %s: %w", version, err)
	}
	return store.GetJSON[rl.Evaluation](ctx, c.Store, out.Evaluation)
}
