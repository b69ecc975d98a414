package rollout

import (
	"cmp"
	"context"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// Options say which episode to run, and how.
type Options struct {
	Episode     rl.EpisodeID
	Task        rl.Task
	Model       string     // what the policy server calls the policy
	Version     rl.Version // what we call it
	Temperature float64
	MaxTokens   int // of one action
	MaxTurns    int // actions at most
	// EpisodeTimeout cuts the episode off: it is truncated and scored as it stands. It starts anew in a resumed
	// episode, and stands still while the policy server is paused. 0: never.
	EpisodeTimeout time.Duration
	// TurnTimeout bounds one policy call, and one tool call and the score where the environment sets no timeout of its own for
	// them. Passing it is a failure, Unavailable. 0: never.
	TurnTimeout time.Duration
	// Training: every action must have what training needs, or the episode fails (policy.ErrUntrainable).
	Training bool
	Seed     uint64 // turn t samples with rl.Seed(Seed, "turn", t)
	// Recorded are the first turns of this episode, from an earlier attempt: they are replayed, not sampled again.
	Recorded []rl.Recorded
	// Exact: no action is sampled. Once the recorded turns are played the episode stops, EndOfRecord. The policy is not
	// used and may be nil.
	Exact bool
	// Inside refuses calls with an effect outside the episode, unless they are answered from the record.
	Inside bool
	// Record commits a turn before its action is executed; its Reward is not known yet. It is not called for
	// Recorded turns. Nil: nothing is committed.
	Record func(context.Context, rl.Recorded) error
	// Key begins the key of every call (see envs.Call); empty: the episode's id.
	Key string
	// Claim is asked before a call that must not be repeated is sent, for the try-th time (from 0): first says that
	// nobody has claimed that try before, in whatever attempt, and that the claim is on record. Nil: only what Recorded
	// leaves open is in doubt.
	Claim func(ctx context.Context, turn, call, try int) (first bool, err error)
	// RecordResult commits what a call with an effect outside the episode gave, before anything else is done. Nil:
	// nothing is committed.
	RecordResult func(ctx context.Context, turn, call int, r rl.CallResult) error
}

// Run plays one episode and returns its record. It takes one of the policy client's places for a live episode, and
// resets env; closing env is the caller's.
//
// Errors are *rl.Error: the policy's (see policy.Seat.Act), the environment's (At "environment NAME"), Record's,
// Corrupt with ErrDiverged when the replay of Recorded diverges from it, naming the turn: then the recorded turns are of
// no use and the episode is to be run without them, if it is Repeatable; and Conflict with ErrUncertain. When ctx ends,
// the error is its own.
func Run(ctx context.Context, env envs.Env, p *policy.Client, o Options) (*rl.Trajectory, error) {
	var seat *policy.Seat
	if !o.Exact {
		var err error
		if seat, err = p.Acquire(ctx); err != nil {
			return nil, err
		}
		defer seat.Release()
	}
	live, cancel := policy.Within(ctx, o.EpisodeTimeout)
	defer cancel()
	if o.Key == "" {
		o.Key = o.Episode.String()
	}
	e := &episode{env: env, policy: seat, Options: o, spec: env.Spec()}
	stop, err := e.play(ctx, live)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	t := &rl.Trajectory{
		Schema: rl.TrajectorySchema, Episode: o.Episode, Task: o.Task, Policy: rl.PolicySpan{First: o.Version, Last: o.Version},
		Turns: e.turns, Closing: e.seen, Stop: stop,
	}
	if n := len(e.turns); n > 0 {
		t.Policy = rl.PolicySpan{First: e.turns[0].Action.Version, Last: e.turns[n-1].Action.Version}
	}
	scoring, cancel := within(ctx, cmp.Or(e.spec.ScoreTimeout, o.TurnTimeout))
	defer cancel()
	if t.Outcome, err = env.Score(scoring); err != nil {
		return nil, e.envError(err)
	}
	for name, v := range t.Outcome.Numbers() {
		if !rl.Countable(v) {
			return nil, rl.Errorf(rl.Invalid, "environment "+o.Task.Env, "the score's %s is %g, which is no number to learn from", name, v)
		}
	}
	return t, nil
}

// within is ctx with a deadline; 0 sets none.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// envError names the environment as the boundary that an error crossed.
func (e *episode) envError(err error) error {
	if rl.KindOf(err) != "" {
		return err
	}
	return rl.Errorf(rl.Unavailable, "environment "+e.Task.Env, "%w", err)
}

// overdue reports whether a policy call failed because the episode's time was over. That need not show in the error:
// a server that notices first may leave half a reply.
func overdue(live context.Context, err error) bool {
	return live.Err() != nil && rl.KindOf(err) == rl.Unavailable
}
