package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// An evaluation's activity plays this many tasks, each once greedily and once by sampling.
const (
	tasksPerActivity  = 25
	evaluationMembers = 2
)

// EvaluateIn asks for the evaluation of version Stage.Update under the key Stage.Evaluation.
type EvaluateIn struct {
	activities.Stage
	EpisodeTimeout time.Duration `json:"episode_timeout"`
}

// How long one waits before asking again for an evaluation that somebody else has under way: at first, and twice as long
// each time up to a bound, since each asking is part of history.
const (
	othersEvaluate     = 2 * time.Second
	othersEvaluateLong = 5 * time.Minute
)

// evaluated runs an evaluation as a child. A person may have asked for the same one (`longhaul eval`): its stages record
// what they did, so it is waited for and then found.
func evaluated(ctx workflow.Context, in EvaluateIn) (out activities.ScoreEvaluationOut, err error) {
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: EvaluateID(rl.VersionOf(in.Run, in.Update), in.Evaluation), TaskQueue: ControlQueue, WaitForCancellation: true,
	})
	for wait := othersEvaluate; ; wait = min(2*wait, othersEvaluateLong) {
		err = workflow.ExecuteChildWorkflow(child, Evaluate, in).Get(ctx, &out)
		if !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			return out, err
		}
		if err := workflow.Sleep(ctx, wait); err != nil {
			return out, err
		}
	}
}

// Evaluate plays the held-out tasks with one version and records the success rates.
func Evaluate(ctx workflow.Context, in EvaluateIn) (out activities.ScoreEvaluationOut, err error) {
	var sampled activities.SampleGroupOut
	if err := workflow.ExecuteActivity(noBeat(ctx), stages.SampleGroup, activities.SampleGroupIn{Stage: in.Stage}).Get(ctx, &sampled); err != nil {
		return out, err
	}
	var played []workflow.Future
	for g := 0; g < sampled.Groups; g += tasksPerActivity {
		played = append(played, workflow.ExecuteActivity(episodes(ctx, in.EpisodeTimeout), stages.RunTrajectory, activities.RunTrajectoryIn{
			Stage: in.Stage, Tasks: sampled.Tasks, Version: rl.VersionOf(in.Run, in.Update),
			FirstGroup: g, Groups: min(tasksPerActivity, sampled.Groups-g), Members: evaluationMembers,
		}))
	}
	for _, p := range played {
		if err := p.Get(ctx, nil); err != nil {
			return out, err
		}
	}
	err = workflow.ExecuteActivity(bookkeeping(ctx), stages.ScoreEvaluation, activities.ScoreEvaluationIn{Stage: in.Stage, Tasks: sampled.Tasks}).Get(ctx, &out)
	return out, err
}
