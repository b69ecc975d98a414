package advantage

import (
	"fmt"
	"math"

	"github.com/longhaul-rl/longhaul/rl"
)

// failure says why a member has no trajectory. The words of rl.Group.Failed begin with the kind.
func failure(g rl.Group, member int) (rl.LeftOut, string) {
	if member >= len(g.Failed) || g.Failed[member] == "" {
		return rl.EnvFailed, "no trajectory, and no reason was recorded"
	}
	return rl.LeftOutOf(g.Failed[member], rl.EnvFailed), g.Failed[member]
}

// scoreOf is a member's score. One that is missing, belongs to another task or is not finite is no score: absent
// is never 0.
func scoreOf(g rl.Group, judged rl.Scores, member int) rl.Score {
	switch {
	case judged.Task != g.Task.ID:
		return rl.Score{Unscored: fmt.Sprintf("no scores for task %s", g.Task.ID)}
	case member >= len(judged.Scores):
		return rl.Score{Unscored: fmt.Sprintf("%d scores for %d members", len(judged.Scores), len(g.Trajectories))}
	}
	s := judged.Scores[member]
	if s.Scored() && (math.IsNaN(s.Value) || math.IsInf(s.Value, 0)) {
		return rl.Score{Unscored: fmt.Sprintf("the score %g is not a finite number", s.Value)}
	}
	return s
}
