package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/store"
)

// ReplayIn asks for one replay; Stage is that of the original.
type ReplayIn struct {
	Stage
	Replay rl.ReplaySpec `json:"replay"`
}

// ReplayEpisode does an episode again beside the original and records what it came to. The turns that are served from
// the record are not sampled again, and their calls are executed only where that touches nothing outside; the others are
// sampled live. An episode that fails again is a result too: that is what one wants to see.
func (a *Activities) ReplayEpisode(ctx context.Context, in ReplayIn) (rl.Replay, error) {
	defer beat(ctx)()
	out, err := a.replayEpisode(ctx, in, activity.GetInfo(ctx).StartedTime)
	return out, temporalError(ctx, err)
}

func (a *Activities) replayEpisode(ctx context.Context, in ReplayIn, began time.Time) (out rl.Replay, err error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	key := store.ReplayKey(in.Replay.Of, in.Replay.Number)
	if _, out, ok, err := recorded[rl.Replay](ctx, st, key); ok || err != nil {
		return out, err
	}
	was, err := a.Original(ctx, in.Stage, in.Replay.Of)
	if err != nil {
		return out, err
	}
	out = rl.Replay{Schema: rl.ReplaySchema, ReplaySpec: in.Replay, Time: began.UTC().Truncate(time.Second), Original: was.Ended}
	is, end, err := a.again(ctx, st, cfg, in, was)
	if err != nil {
		return out, err
	}
	switch {
	case end.trajectory != nil:
		t := end.trajectory
		if t, err = st.PutTrajectory(ctx, store.ReplayTrajectoryKey(in.Replay.Of, in.Replay.Number), t); err != nil {
			return out, err
		}
		is = t.Turns
		ref, _, err := st.Find(ctx, store.ReplayTrajectoryKey(in.Replay.Of, in.Replay.Number))
		if err != nil {
			return out, err
		}
		out.Trajectory, out.Stop, out.Outcome = &ref, t.Stop, &t.Outcome
		out.Parts = rl.Parts(was.turns(), t.Turns, was.Closing, &t.Closing)
	default:
		out.Failure = &end.failure
		if out.Parts = end.parts; out.Parts == nil {
			out.Parts = rl.Parts(was.turns(), is, was.Closing, nil)
		}
	}
	out.Turns = len(is)
	_, out, err = store.PutJSON(ctx, st, key, out)
	return out, err
}

// Original is what is recorded of an episode that may be replayed.
type Original struct {
	Task    rl.Task
	Turns   []rl.Recorded
	Closing *rl.Observation // what the last turn led to; nil: not recorded
	Version rl.Version      // that sampled it
	Ended   string          // its stop reason, or failure; "" while it has not ended
}

// answer gives the last turn's calls the results that the trajectory ends with.
func (o *Original) answer(t *rl.Trajectory) {
	n := len(o.Turns)
	if n == 0 || len(t.Closing.Messages) == 0 {
		return
	}
	results := map[int]rl.CallResult{}
	for i, m := range t.Closing.Messages {
		results[i] = rl.CallResult{Content: m.Content, Done: t.Stop == rl.Answered && i == len(t.Closing.Messages)-1}
	}
	o.Turns[n-1].Results = results
}

func (o Original) turns() (out []rl.Turn) {
	for _, r := range o.Turns {
		out = append(out, r.Turn)
	}
	return out
}

// Original reads an episode's record: its trajectory, or else what its journal has. Errors: NotFound when the episode is
// none of the update's, or nothing is recorded of it.
func (a *Activities) Original(ctx context.Context, s Stage, id rl.EpisodeID) (o Original, err error) {
	st, err := a.store(ctx, s.Store)
	if err != nil {
		return o, err
	}
	tasks, err := st.Tasks(ctx, id.Run, id.Update)
	if err != nil {
		return o, err
	}
	i := slices.IndexFunc(tasks, func(t rl.Task) bool { return t.ID == id.Task })
	if i < 0 {
		return o, rl.Errorf(rl.NotFound, "episode "+id.String(), "its update has no task %s", id.Task)
	}
	o = Original{Task: tasks[i], Version: rl.VersionOf(id.Run, max(0, id.Update-1))}
	key := store.TrajectoryKey(id)
	t, err := st.Trajectory(ctx, key)
	switch {
	case err == nil:
		earned := 0.0
		for _, turn := range t.Turns {
			o.Turns = append(o.Turns, rl.Recorded{Turn: turn, Earned: earned})
			earned = turn.Reward
		}
		o.Closing, o.Version, o.Ended = &t.Closing, t.Policy.Last, string(t.Stop)
		o.answer(t)
		return o, nil
	case !absent(err):
		return o, err
	}
	_, episodes, err := a.recall(ctx, st, s, tasks[i:i+1])
	if err != nil {
		return o, err
	}
	if j := episodes[rl.Member{Task: id.Task, Member: id.Member}]; j != nil {
		o.Turns = j.Turns
	}
	if n := len(o.Turns); n > 0 {
		o.Version = o.Turns[n-1].Action.Version
	}
	_, f, failed, err := recorded[rl.Failure](ctx, st, store.FailureKey(key))
	if failed {
		o.Ended = fmt.Sprintf("%s: %s", f.LeftOut, f.Why)
	} else if err == nil && len(o.Turns) == 0 {
		err = rl.Errorf(rl.NotFound, "episode "+id.String(), "nothing is recorded of it (yet)")
	}
	return o, err
}

// ending is what a replay came to: a trajectory, or a failure.
type ending struct {
	trajectory *rl.Trajectory
	failure    rl.Failure
	parts      *rl.Divergence // where the environment went another way than recorded; nil: it did not
}

// again plays the episode. The turns that it took are returned also when it failed.
func (a *Activities) again(ctx context.Context, st *store.Store, cfg rl.Config, in ReplayIn, was Original) (turns []rl.Turn, end ending, err error) {
	world, err := a.world(ctx, st, in.Run, cfg.Env)
	if err != nil {
		return nil, end, err
	}
	e := episode{Activities: a, stage: in.Stage, in: st, config: cfg, world: world, task: was.Task, member: in.Replay.Of.Member, version: in.Replay.Version}
	if !in.Replay.Exact {
		if e.client, e.model, err = a.playing(ctx, in.Stage, st, cfg, in.Replay.Version); err != nil {
			return nil, end, err
		}
	}
	o := e.options()
	if in.Replay.Try > 0 {
		o.Seed = rl.Seed(o.Seed, "replay", in.Replay.Try)
	}
	o.Recorded, o.Exact, o.Inside = was.Turns[:min(in.Replay.Recorded, len(was.Turns))], in.Replay.Exact, true
	for _, r := range o.Recorded {
		turns = append(turns, r.Turn)
	}
	o.Record = func(_ context.Context, r rl.Recorded) error {
		turns = append(turns, r.Turn)
		return nil
	}
	t, err := e.play(ctx, o)
	if err == nil {
		return t.Turns, ending{trajectory: t}, nil
	}
	if boundary, _ := rollout.OwnFailure(err); boundary != "" && ctx.Err() == nil {
		end = ending{failure: rl.Failure{LeftOut: boundary, Why: words(err)}}
		if d, ok := errors.AsType[*rl.Divergence](err); ok {
			end.parts = d
		}
		return turns, end, nil
	}
	return turns, end, err
}
