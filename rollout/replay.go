package rollout

import (
	"context"
	"errors"
	"slices"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// ErrDiverged is in the error of an episode whose environment does not say again what it said: what is recorded of it
// is of no use, since the policy is never shown a changed past.
var ErrDiverged = errors.New("the episode went another way than it is recorded")

// ErrUncertain is in the error of an episode that was interrupted while a call that must not be repeated was out, when
// nobody knows what became of it.
var ErrUncertain = errors.New("it is not known whether the call was executed, and it must not be repeated")

// Repeatable reports whether an episode may begin again from its start: nothing that it did must be done only once.
func Repeatable(spec envs.Spec, recorded []rl.Recorded) bool {
	for _, turn := range recorded {
		for _, call := range turn.Action.Message.ToolCalls {
			if tool, ok := spec.Tool(call.Name); ok && tool.Effect == envs.ExternalOnce && call.Invalid == "" {
				return false
			}
		}
	}
	return true
}

// restore goes on from the newest snapshot on record, so that only the turns after it have to be played to the
// environment again. ok is false when there is none that can be read.
func (e *episode) restore(live context.Context) (ok bool, err error) {
	for k, turn := range slices.Backward(e.Recorded) {
		if k == 0 || turn.Snapshot == nil {
			continue
		}
		err := e.env.Restore(live, turn.Snapshot)
		if errors.Is(err, envs.ErrNoSnapshot) || rl.KindOf(err) == rl.Corrupt {
			continue
		}
		if err != nil {
			return false, e.envError(err)
		}
		for i, before := range e.Recorded[:k] {
			e.see(before.Observation)
			if err := e.fits(before.Action); err != nil {
				return false, err
			}
			e.take(before.Action)
			e.turns[i].Reward = e.Recorded[i+1].Earned
		}
		e.see(turn.Observation)
		return true, nil
	}
	return false, nil
}

// replayed is the recorded action of the turn at hand. Its calls are executed again where that is needed and allowed, so
// that the environment gets to where it was; what it says on the way must be what it said then.
func (e *episode) replayed() (rl.Action, error) {
	turn := e.Recorded[len(e.turns)]
	if d := rl.Diverged(len(e.turns), "observation", turn.Observation.Messages, e.seen.Messages); d != nil {
		return rl.Action{}, rl.Errorf(rl.Corrupt, "journal of "+e.Episode.String(), "%w: %w", d, ErrDiverged)
	}
	if now := e.earned(); now != turn.Earned {
		return rl.Action{}, e.diverged("the turn before earned %v, and now earns %v", turn.Earned, now)
	}
	return turn.Action, e.fits(turn.Action)
}

// fits checks that a recorded action continues the token sequence of the turns before it.
func (e *episode) fits(a rl.Action) error {
	if a.Kept < 0 || a.Kept > len(e.sequence) {
		return e.diverged("the action keeps %d of %d tokens", a.Kept, len(e.sequence))
	}
	return nil
}

// past is the turn after the one whose calls are being executed, when that is recorded: what the calls gave is known.
func (e *episode) past() *rl.Recorded {
	if len(e.turns) < len(e.Recorded) {
		return &e.Recorded[len(e.turns)]
	}
	return nil
}

// remembered answers a call from the journal, where executing it again is needless or forbidden: a call that only
// reads, or whose effect is outside the episode. ok is false for all others.
func (e *episode) remembered(n int, tool envs.Tool) (r envs.Result, ok bool) {
	if !tool.Effect.Local() {
		if next := e.past(); next != nil && n < len(next.Observation.Messages) {
			e.recalled = true // and what it earned is in the sum that the next turn was recorded with
			return envs.Result{Content: next.Observation.Messages[n].Content}, true
		}
	}
	if i := len(e.turns) - 1; tool.Effect.External() && i < len(e.Recorded) {
		if c, known := e.Recorded[i].Results[n]; known {
			return envs.Result{Content: c.Content, Done: c.Done, Reward: c.Reward}, true
		}
	}
	return envs.Result{}, false
}

// settled decides whether a call with an outside effect is sent. One that is idempotent always is: under the same key it
// counts once. One that must not be repeated is claimed first. When it was claimed before, by an attempt that was
// interrupted or one that is still alive somewhere, it may have been executed or not: the tool's Outcome is asked. known
// means that r is what it gave.
func (e *episode) settled(ctx, live context.Context, n int, tool envs.Tool, call envs.Call) (r envs.Result, known bool, err error) {
	if tool.Effect != envs.ExternalOnce {
		return r, false, nil
	}
	for try := 0; ; try++ {
		first, err := e.claim(ctx, n, try)
		if first || err != nil {
			return r, false, err
		}
		if tool.Outcome == nil {
			return r, false, rl.Errorf(rl.Conflict, "environment "+e.Task.Env, "%s, call %s: %w", call.Name, call.Key, ErrUncertain)
		}
		r, known, err = tool.Outcome(live, call)
		if err != nil {
			return r, false, e.envError(err)
		}
		if known {
			return r, true, nil
		}
	}
}

// claim claims call n of the turn at hand.
func (e *episode) claim(ctx context.Context, n, try int) (first bool, err error) {
	if e.Claim == nil {
		return try > 0 || len(e.turns) != len(e.Recorded), nil
	}
	return e.Claim(ctx, len(e.turns)-1, n, try)
}

func (e *episode) diverged(format string, args ...any) error {
	args = append([]any{len(e.turns)}, append(args, ErrDiverged)...)
	return rl.Errorf(rl.Corrupt, "journal of "+e.Episode.String(), "turn %d: "+format+": %w", args...)
}
