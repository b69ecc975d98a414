package reward

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

// The exact reward is the environment's own score, recorded as the trajectory's Outcome: nothing is added.
func init() { Register("exact", exact) }

func exact(_ context.Context, g rl.Group) ([]rl.Score, error) {
	scores := make([]rl.Score, len(g.Trajectories))
	for i, t := range g.Trajectories {
		if t == nil {
			scores[i] = failed(g, i)
		} else {
			scores[i] = t.Outcome
		}
	}
	return scores, nil
}
