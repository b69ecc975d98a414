package advantage

import (
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
)

// failure says why a member has no trajectory. The words of rl.Group.Failed begin with the kind.
func failure(g rl.Group, member int) (rl.LeftOut, string) {
	if member >= len(g.Failed) || g.Failed[member] == "" {
		return rl.EnvFailed, "no trajectory, and no reason was recorded"
	}
	return rl.LeftOutOf(g.Failed[member], rl.EnvFailed), g.Failed[member]
}

// scoreOf is a member's score. One that is missing, belongs to another task or cannot be counted with is no score: absent
// is never 0. Nor is there one where the rewards of its turns, which estimators add to it, cannot be counted with.
func scoreOf(g rl.Group, judged rl.Scores, member int) rl.Score {
	switch {
	case judged.Task != g.Task.ID:
		return rl.Score{Unscored: fmt.Sprintf("no scores for task %s", g.Task.ID)}
	case member >= len(judged.Scores):
		return rl.Score{Unscored: fmt.Sprintf("%d scores for %d members", len(judged.Scores), len(g.Trajectories))}
	}
	s := judged.Scores[member]
	if s.Scored() && !rl.Countable(s.Value) {
		return rl.Score{Unscored: fmt.Sprintf("the score %g is no number to learn from", s.Value)}
	}
	if t := g.Trajectories[member]; t != nil {
		for i, turn := range t.Turns {
			if !rl.Countable(turn.Reward) {
				return rl.Score{Unscored: fmt.Sprintf("turn %d earned %g, which is no number to learn from", i, turn.Reward)}
			}
		}
	}
	return s
}
