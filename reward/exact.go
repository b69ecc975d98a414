package reward

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() { Register("exact", Exact) }

// Exact is the environment's own score, which the rollout recorded as the trajectory's Outcome. It never fails.
func Exact(_ context.Context, g rl.Group) ([]rl.Score, error) {
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
