package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// evaluate plays the held-out tasks with the version just made, when it is due, and does what the guard decides: a
// version that meets the promotion rule becomes the best; a collapse goes back to the best with half the learning rate.
func (t *train) evaluate(ctx workflow.Context) error {
	if !t.in.Plan.Evaluates(t.Next) {
		return nil
	}
	t.doing = playing
	out, err := t.played(ctx)
	if err != nil {
		return err
	}
	guard, verdict, err := t.Guard.After(t.Next, *t.Base, rl.Evaluation{Greedy: out.Greedy, Sampled: out.Sampled}, t.in.Plan.Guard)
	if err != nil {
		return err
	}
	if verdict.Promoted {
		promote := activities.PromoteIn{Stage: t.at(t.Next), Manifest: *t.Base}
		if err := workflow.ExecuteActivity(noBeat(ctx), stages.Promote, promote).Get(ctx, nil); err != nil {
			return err
		}
	}
	if t.Guard = guard; verdict.Back {
		t.Base, t.Current = &guard.Best.Manifest, guard.Best.Update
	}
	if verdict.Event != "" {
		t.tell(ctx, "collapse", verdict.Event)
	}
	return nil
}

// played runs the evaluation of version Next.
func (t *train) played(ctx workflow.Context) (activities.ScoreEvaluationOut, error) {
	at := t.at(t.Next)
	at.Evaluation = t.in.Plan.EvalKey
	return evaluated(ctx, EvaluateIn{Stage: at, EpisodeTimeout: t.in.Plan.EpisodeTimeout})
}
