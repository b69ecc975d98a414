package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// evaluate plays the held-out tasks with the version just made, when it is due. A version that meets the promotion
// rule becomes the best; a collapse goes back to the best one with half the learning rate.
func (t *train) evaluate(ctx workflow.Context) error {
	if !t.in.Plan.Evaluates(t.Next) {
		return nil
	}
	at := t.at(t.Next)
	at.Evaluation = t.in.Plan.EvalKey
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: EvaluateID(rl.VersionOf(t.in.Run, t.Next), at.Evaluation), TaskQueue: ControlQueue})
	var out activities.ScoreEvaluationOut
	if err := workflow.ExecuteChildWorkflow(child, Evaluate, EvaluateIn{Stage: at, EpisodeTimeout: t.in.Plan.EpisodeTimeout}).Get(ctx, &out); err != nil {
		return err
	}
	e := rl.Evaluation{Greedy: out.Greedy, Sampled: out.Sampled}
	promote, err := rl.ParsePromote(t.in.Plan.Promote)
	if err != nil {
		return err
	}
	if t.Best == nil || promote.Better(e, t.Best.Success) {
		t.Best = &Best{Manifest: *t.Base, Update: t.Current, Success: promote.Value(e)}
		return workflow.ExecuteActivity(noBeat(ctx), stages.Promote, activities.PromoteIn{Stage: t.at(t.Next), Manifest: *t.Base}).Get(ctx, nil)
	}
	t.guard(ctx, promote.Value(e))
	return nil
}

// guard goes back to the best checkpoint when success fell below Collapse of the best, at most Retries times.
func (t *train) guard(ctx workflow.Context, success float64) {
	p := t.in.Plan
	if success >= p.Collapse*t.Best.Success || int(t.Next) >= p.Updates {
		return
	}
	fell := fmt.Sprintf("held-out success fell to %.3f, the best was %.3f at update %d", success, t.Best.Success, t.Best.Update)
	if t.Retries >= p.Retries {
		t.tell(ctx, "collapse", fell+fmt.Sprintf("; already went back %d times, going on", t.Retries))
		return
	}
	t.Retries++
	t.Scale /= 2
	t.Base, t.Current = &t.Best.Manifest, t.Best.Update
	t.tell(ctx, "collapse", fell+fmt.Sprintf("; going back to it with %g of the learning rate", t.Scale))
}
