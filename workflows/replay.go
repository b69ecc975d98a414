package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// ReplayEpisodesIn asks for replays of episodes of one run; each has its own stage, that of its original.
type ReplayEpisodesIn struct {
	Replays        []activities.ReplayIn `json:"replays"`
	EpisodeTimeout time.Duration         `json:"episode_timeout"`
}

// Replay does episodes again, side by side. The results are in the store, at the episodes' places.
func Replay(ctx workflow.Context, in ReplayEpisodesIn) error {
	running := make([]workflow.Future, len(in.Replays))
	for i, r := range in.Replays {
		running[i] = workflow.ExecuteActivity(episodes(ctx, in.EpisodeTimeout), stages.ReplayEpisode, r)
	}
	for _, r := range running {
		if err := r.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// ReplayID is the workflow id of one replay, or of many that were asked for together, which the first names.
func ReplayID(first rl.ReplaySpec, n int) string {
	id := fmt.Sprintf("replay/%s/%d", first.Of, first.Number)
	if n > 1 {
		id += fmt.Sprintf("+%d", n-1)
	}
	return id
}
