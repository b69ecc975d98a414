package main

import (
	"context"
	"fmt"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// conclude shows what was learnt: the curve, the evaluations, one task before and after, and what to try next.
func (a *app) conclude(ctx context.Context, f *follower, done doneEvent) error {
	before, _, err := f.evaluated(ctx, 0)
	if err != nil {
		return err
	}
	last := rl.UpdateNumber(f.config.Updates)
	if last == 0 {
		a.out.print("\n%s\nThis is the policy after its warm-up; no updates were asked for, so there is nothing to compare it with.\n", render.Evaluation(before))
		a.whatNext(f, done, string(f.run))
		return nil
	}
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
What reinforcement taught is the fragile rule. Single hops and the wording of the calls come from the
warm-up; chains of boxes and retries after "busy" became reliable on top of it.
`)
	a.whatNext(f, done, fmt.Sprintf("%s/%d", f.run, last))
	return nil
}

// whatNext says where everything lies and what to try, in lines that can be pasted; shown is what show begins with.
func (a *app) whatNext(f *follower, done doneEvent, shown string) {
	a.out.print("\nEverything lies in %s: the checkpoint %s (manifest sha256 %.12s…),\nevery trajectory, score, batch and ledger. Three things to try next:\n",
		a.data, done.Checkpoint.Version, done.Checkpoint.SHA256)
	data := a.dataFlag()
	a.out.rows([][]string{
		{"  longhaul show " + shown + data, "# groups, scores and rewards, down to one turn"},
		{"  longhaul verify " + string(f.run) + data, "# re-hashes every byte of the run"},
		{"  longhaul init && longhaul train -f run.yaml" + data, "# a configuration to change, and a run of it"},
	})
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
		if rl.KindOf(err) == rl.NotFound {
			continue
		}
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
