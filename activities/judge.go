package activities

import (
	"context"
	"fmt"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// JudgeGroupIn names the group to score.
type JudgeGroupIn struct {
	Stage
	Tasks rl.Ref `json:"tasks"`
	Group int    `json:"group"`
}

// JudgeGroupOut counts the members that got a score.
type JudgeGroupOut struct {
	Scored int `json:"scored"`
}

// JudgeGroup scores all trajectories of a group together and records the scores once: a group whose scores are
// recorded is never judged, and never paid for, again.
func (a *Activities) JudgeGroup(ctx context.Context, in JudgeGroupIn) (JudgeGroupOut, error) {
	defer beat(ctx)()
	out, err := a.judgeGroup(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) judgeGroup(ctx context.Context, in JudgeGroupIn) (out JudgeGroupOut, err error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	all, err := a.tasksOf(ctx, st, in.Tasks)
	if err != nil {
		return out, err
	}
	if in.Group >= len(all) {
		return out, rl.Errorf(rl.Invalid, "store "+in.Tasks.Key, "%d tasks, group %d asked for", len(all), in.Group)
	}
	key := store.ScoresKey(in.Run, in.Update, all[in.Group].ID)
	_, scores, ok, err := recorded[rl.Scores](ctx, st, key)
	if err != nil {
		return out, err
	}
	if !ok {
		if scores, err = a.judge(ctx, st, in.Stage, cfg, all[in.Group]); err != nil {
			return out, err
		}
		if _, scores, err = store.PutJSON(ctx, st, key, scores); err != nil {
			return out, err
		}
	}
	for _, s := range scores.Scores {
		if s.Scored() {
			out.Scored++
		}
	}
	return out, nil
}

func (a *Activities) judge(ctx context.Context, st *store.Store, s Stage, cfg rl.Config, task rl.Task) (rl.Scores, error) {
	group, err := a.readGroup(ctx, st, s, task, cfg.Group.Size)
	if err != nil {
		return rl.Scores{}, err
	}
	score, err := reward.Get(cfg.Reward.Use)
	if err != nil {
		return rl.Scores{}, err
	}
	scores, err := score(ctx, group)
	if err == nil && len(scores) != cfg.Group.Size {
		err = rl.Errorf(rl.Invalid, "reward "+cfg.Reward.Use, "%d scores for %d members of %s", len(scores), cfg.Group.Size, task.ID)
	}
	return rl.Scores{Schema: rl.ScoresSchema, Task: task.ID, Reward: cfg.Reward.Use, Scores: scores}, err
}

// readGroup reads the group's trajectories and recorded failures.
func (a *Activities) readGroup(ctx context.Context, st *store.Store, s Stage, task rl.Task, size int) (rl.Group, error) {
	g := rl.Group{Task: task, Trajectories: make([]*rl.Trajectory, size), Failed: make([]string, size)}
	for m := range size {
		key := s.trajectoryKey(task.ID, m)
		t, err := a.trajectory(ctx, st, key)
		if err == nil {
			g.Trajectories[m] = t
			continue
		}
		var f failure
		if rl.KindOf(err) == rl.NotFound {
			_, f, _, err = recorded[failure](ctx, st, store.FailureKey(key))
		}
		if err != nil {
			return g, err
		}
		if f.LeftOut == "" {
			f = failure{rl.StoreFailed, "neither a trajectory nor a failure is recorded"}
		}
		g.Failed[m] = fmt.Sprintf("%s: %s", f.LeftOut, f.Why)
	}
	return g, nil
}
