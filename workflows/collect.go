package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// groupsPerCollect bounds one Collect's history; a larger update is collected by several side by side.
const groupsPerCollect = 128

// CollectIn asks for groups [First, First+Groups) of an update.
type CollectIn struct {
	activities.Stage
	Tasks          rl.Ref        `json:"tasks"`
	Version        rl.Version    `json:"version"`
	First          int           `json:"first"`
	Groups         int           `json:"groups"`
	Size           int           `json:"size"`
	PerActivity    int           `json:"per_activity"`
	Quorum         float64       `json:"quorum,omitempty"`
	EpisodeTimeout time.Duration `json:"episode_timeout"`
}

// CollectOut sums up the groups. RolloutSeconds is the wall time until the last trajectory was in, JudgeSeconds
// what judging added after that: the two overlap, and this is how they share the time.
type CollectOut struct {
	Episodes       int     `json:"episodes"`
	Scored         int     `json:"scored"`
	Valid          int     `json:"valid"` // groups whose scored members reach the quorum
	Turns          int     `json:"turns"`
	Tokens         int     `json:"tokens"`
	Again          int     `json:"again,omitempty"` // episodes begun anew (see activities.RunTrajectoryOut)
	RolloutSeconds float64 `json:"rollout_seconds"`
	JudgeSeconds   float64 `json:"judge_seconds"`
}

// Collect gathers the groups of one update, a coroutine each: the members' rollouts, then the judgement of the
// group as soon as it is whole, while others still play.
func Collect(ctx workflow.Context, in CollectIn) (CollectOut, error) {
	c := collect{in: in, began: workflow.Now(ctx)}
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	wg := workflow.NewWaitGroup(ctx)
	for g := in.First; g < in.First+in.Groups; g++ {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			if err := c.group(ctx, g); err != nil && c.err == nil {
				c.err = err
				cancel() // it failed for good: the others need not go on
			}
		})
	}
	wg.Wait(ctx)
	c.out.RolloutSeconds = c.played.Sub(c.began).Seconds()
	c.out.JudgeSeconds = workflow.Now(ctx).Sub(c.played).Seconds()
	return c.out, c.err
}

type collect struct {
	in     CollectIn
	out    CollectOut
	began  time.Time
	played time.Time // when the last trajectory came in
	err    error     // the first failure
}

func (c *collect) group(ctx workflow.Context, g int) error {
	parts := make([]workflow.Future, 0, 1)
	for m := 0; m < c.in.Size; m += c.in.PerActivity {
		parts = append(parts, workflow.ExecuteActivity(episodes(ctx, c.in.EpisodeTimeout), stages.RunTrajectory, activities.RunTrajectoryIn{
			Stage: c.in.Stage, Tasks: c.in.Tasks, Version: c.in.Version,
			FirstGroup: g, Groups: 1, FirstMember: m, Members: min(c.in.PerActivity, c.in.Size-m),
		}))
	}
	for _, p := range parts {
		var out activities.RunTrajectoryOut
		if err := p.Get(ctx, &out); err != nil {
			return err
		}
		c.out.Episodes += out.Episodes
		c.out.Turns += out.Turns
		c.out.Tokens += out.Tokens
		c.out.Again += out.Again
	}
	c.played = workflow.Now(ctx)
	var judged activities.JudgeGroupOut
	err := workflow.ExecuteActivity(judging(ctx), stages.JudgeGroup, activities.JudgeGroupIn{Stage: c.in.Stage, Tasks: c.in.Tasks, Group: g}).Get(ctx, &judged)
	c.out.Scored += judged.Scored
	if judged.Scored >= rl.Quorum(c.in.Quorum, c.in.Size) {
		c.out.Valid++
	}
	return err
}
