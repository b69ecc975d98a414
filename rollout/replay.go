package rollout

import (
	"bytes"

	"github.com/longhaul-rl/longhaul/rl"
)

// replayed is the recorded action of the turn at hand. Its calls are executed again, so that the environment gets
// to where it was; what it says on the way must be what it said then, since the policy is never shown a changed
// past.
func (e *episode) replayed() (rl.Action, error) {
	turn := e.Recorded[len(e.turns)]
	if then, now := rl.CanonicalJSON(turn.Observation), rl.CanonicalJSON(e.seen); !bytes.Equal(then, now) {
		return rl.Action{}, e.diverged("the environment said %.300s, and now says %.300s", then, now)
	}
	if turn.Action.Kept < 0 || turn.Action.Kept > len(e.sequence) {
		return rl.Action{}, e.diverged("the action keeps %d of %d tokens", turn.Action.Kept, len(e.sequence))
	}
	return turn.Action, nil
}

func (e *episode) diverged(format string, args ...any) error {
	args = append([]any{len(e.turns)}, args...)
	return rl.Errorf(rl.Corrupt, "journal of "+e.Episode.String(), "turn %d: "+format, args...)
}
