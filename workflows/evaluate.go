package workflows

import (
	"time"

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
