package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
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

// othersEvaluate is how long Train waits before it asks again for an evaluation that somebody else has under way.
const othersEvaluate = 2 * time.Second

// played runs the evaluation of version Next. A person may have asked for the same one (`longhaul eval`): its stages
// record what they did, so it is waited for and then found.
func (t *train) played(ctx workflow.Context) (out activities.ScoreEvaluationOut, err error) {
	at := t.at(t.Next)
	at.Evaluation = t.in.Plan.EvalKey
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: EvaluateID(rl.VersionOf(t.in.Run, t.Next), at.Evaluation), TaskQueue: ControlQueue, WaitForCancellation: true})
	for {
		err = workflow.ExecuteChildWorkflow(child, Evaluate, EvaluateIn{Stage: at, EpisodeTimeout: t.in.Plan.EpisodeTimeout}).Get(ctx, &out)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return out, err
		}
		if err := workflow.Sleep(ctx, othersEvaluate); err != nil {
			return out, err
		}
	}
}
