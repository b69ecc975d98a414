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
	var b baseline
	c := a.jsonFlag(&cobra.Command{
		Use: "eval RUN[@VERSION] [--tasks FILE] [--model NAME --url URL]", Short: "Play held-out tasks with a version, or a baseline: success with its 95 % interval", GroupID: groupLook, Args: cobra.ExactArgs(1),
		Long: "eval plays the run's held-out tasks (eval.tasks), greedily and by sampling, with the newest version or the one named:\n" +
			"orders-1, orders-1@12, orders-1@best. With --tasks it plays the held-out tasks that FILE lists, one index a line.\n" +
			"With --model a baseline plays the same tasks: a model that any endpoint of the OpenAI API has, which need not give token ids.\n" +
			"The result is kept: asked again, it is only read. `longhaul show RUN` has it beside the run's own.",
		Example: "  longhaul eval orders-1@best\n" +
			"  longhaul eval orders-1 --model some-model --url https://api.example.com/v1 --api-key-env EXAMPLE_KEY",
		RunE: func(cmd *cobra.Command, args []string) error {
			foreign, err := b.given()
			if err != nil {
				return err
			}
			e, err := a.evaluateHere(cmd.Context(), file, func(h *host) (playing, error) {
				if foreign {
					return a.playBaseline(cmd.Context(), h, args[0], b)
				}
				return playVersion(cmd.Context(), h.conn, args[0])
			})
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
	b.flags(c)
	return c
}

// evaluateHere does an evaluation with the process that holds the data directory. When that ends before, as `train` does with its
// run, this one holds it, and the evaluation goes on where it was.
func (a *app) evaluateHere(ctx context.Context, file string, play func(*host) (playing, error)) (rl.Evaluation, error) {
	for {
		h, err := a.host(ctx, want{}, true)
		if err != nil {
			return rl.Evaluation{}, err
		}
		p, err := play(h)
		var e rl.Evaluation
		if err == nil {
			e, err = a.evaluate(ctx, h.conn, p, file)
		}
		h.Close()
		gone := a.holderGone(h.conn)
		if err == nil || gone == nil || ctx.Err() != nil {
			return e, err
		}
		a.out.say("%v", gone)
	}
}

// playing is an evaluation to be done.
type playing struct {
	config rl.Config
	update rl.UpdateNumber
	key    string // of the evaluation of the configuration's own tasks
	who    string // plays, in words
	// begin makes ready what is played with, where it is not known yet what came of it, and says where its configuration lies.
	begin func() (rl.Ref, error)
}

// playVersion is the evaluation of a version: RUN, RUN@12, RUN@best.
func playVersion(ctx context.Context, c *conn, name string) (p playing, err error) {
	run, n, err := versionNamed(ctx, c, name)
	if err != nil {
		return p, err
	}
	ref, cfg, err := c.Store.Config(ctx, run)
	begin := func() (rl.Ref, error) { return ref, nil }
	return playing{cfg, n, workflows.EvaluationKey(cfg), string(rl.VersionOf(run, n)), begin}, err
}

// evaluate does an evaluation, on the tasks that a file lists where one is named, or reads what came of it.
func (a *app) evaluate(ctx context.Context, c *conn, p playing, file string) (rl.Evaluation, error) {
	run, key, tasks := p.config.Name, p.key, p.config.Eval.Tasks
	if file != "" {
		var err error
		if key, tasks, err = recordTasks(ctx, c.Store, p, file); err != nil {
			return rl.Evaluation{}, err
		}
	}
	_, e, err := store.FindJSON[rl.Evaluation](ctx, c.Store, store.EvaluationKey(run, p.update, key))
	if rl.KindOf(err) != rl.NotFound {
		return e, err
	}
	ref, err := p.begin()
	if err != nil {
		return e, err
	}
	a.out.say("playing %d held-out tasks with %s, twice each", tasks, p.who)
	w, err := workers.LaunchEvaluation(ctx, c.Temporal, c.Store, c.URI, p.config, ref, p.update, key)
	if err != nil {
		return e, err
	}
	var out activities.ScoreEvaluationOut
	if err := w.Get(ctx, &out); err != nil {
		return e, fmt.Errorf("evaluating %s: %w", p.who, err)
	}
	return store.GetJSON[rl.Evaluation](ctx, c.Store, out.Evaluation)
}
