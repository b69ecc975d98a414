package advantage

import (
	"math"

	"github.com/longhaul-rl/longhaul/rl"
)

// tally sums up what Stats reports, group by group.
type tally struct {
	tokens, turns  int
	solved, scores int
	sum            float64
	group          []float64 // scores of the group in progress
	deviations     float64   // sum over groups of their standard deviation
	groupsScored   int
	alike, flat    int // groups
}

func (t *tally) played(trajectory *rl.Trajectory) {
	t.tokens += trajectory.ActionTokens()
	t.turns += len(trajectory.Turns)
}

// scored adds a score.
func (t *tally) scored(value float64, outcome rl.Score) {
	t.scores++
	t.sum += value
	if solved(value, outcome) {
		t.solved++
	}
	t.group = append(t.group, value)
}

// solved reports whether a rollout is: when the environment itself says so, and where that has no word, when its score is 1 or
// more. A judge's scores compare, and say little about what was achieved.
func solved(value float64, outcome rl.Score) bool {
	if outcome.Scored() {
		value = outcome.Value
	}
	return value >= 1
}

// closed ends a group.
func (t *tally) closed() {
	if len(t.group) > 0 {
		_, squares := centred(t.group)
		t.deviations += math.Sqrt(squares / float64(len(t.group)))
		t.groupsScored++
	}
	t.group = t.group[:0]
}

// judged counts a group by why it holds no information.
func (t *tally) judged(why rl.LeftOut) {
	switch why {
	case rl.ZeroVariance:
		t.alike++
	case rl.JudgeFlat:
		t.flat++
	}
}

func (t *tally) stats(groups int) Stats {
	return Stats{
		Success:              share(float64(t.solved), t.scores),
		RewardMean:           share(t.sum, t.scores),
		RewardStd:            share(t.deviations, t.groupsScored),
		ZeroVarianceFraction: share(float64(t.alike), groups),
		JudgeFlatFraction:    share(float64(t.flat), groups),
		Tokens:               t.tokens,
		Turns:                t.turns,
	}
}

func share(part float64, of int) float64 {
	if of == 0 {
		return 0
	}
	return part / float64(of)
}
