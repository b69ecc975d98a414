package activities

import (
	"context"
	"fmt"

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
// recorded is never judged, and never paid for, again. Nor is a question to a judge whose answer is recorded.
func (a *Activities) JudgeGroup(ctx context.Context, in JudgeGroupIn) (JudgeGroupOut, error) {
	defer beat(ctx)()
	work, cancel := finishing(ctx)
	defer cancel()
	out, err := a.judgeGroup(work, in)
	return out, temporalError(work, err)
}

func (a *Activities) judgeGroup(ctx context.Context, in JudgeGroupIn) (out JudgeGroupOut, err error) {
	st, cfg, all, err := a.openTasks(ctx, in.Stage, in.Tasks)
	if err != nil {
		return out, err
	}
	if in.Group >= len(all) {
		return out, rl.Errorf(rl.Invalid, "store "+in.Tasks.Key, "%d tasks, group %d asked for", len(all), in.Group)
	}
	scores, err := a.scores(ctx, st, in.Stage, cfg, all[in.Group])
	if err != nil {
		return out, err
	}
	for _, s := range scores.Scores {
		if s.Scored() {
			out.Scored++
		}
	}
	return out, nil
}

// scores are the recorded ones of a group. When there are none, or damaged ones, the group is judged.
func (a *Activities) scores(ctx context.Context, st *store.Store, s Stage, cfg rl.Config, task rl.Task) (rl.Scores, error) {
	key := store.ScoresKey(s.Run, s.Update, task.ID)
	_, scores, ok, err := recorded[rl.Scores](ctx, st, key)
	if ok || err != nil {
		return scores, err
	}
	if scores, err = a.judge(ctx, st, s, cfg, task); err != nil {
		return scores, err
	}
	_, scores, err = store.PutJSON(ctx, st, key, scores)
	return scores, err
}

func (a *Activities) judge(ctx context.Context, st *store.Store, s Stage, cfg rl.Config, task rl.Task) (rl.Scores, error) {
	group, err := a.told(ctx, st, s, cfg, cfg.Reward, task)
	if err != nil {
		return rl.Scores{}, err
	}
	return a.Score(ctx, st, s.Run, s.Update, cfg.Reward, cfg.Sampling.Seed, group)
}

// told is a group as a reward is told of it. Only a judge hears of the world, which may take a server to open.
func (a *Activities) told(ctx context.Context, st *store.Store, s Stage, cfg rl.Config, by rl.RewardConfig, task rl.Task) (rl.Group, error) {
	group, err := a.readGroup(ctx, st, s, task, cfg.Group.Size)
	if err != nil || !by.Judges() {
		return group, err
	}
	world, err := a.world(ctx, st, s.Run, cfg.Env)
	if err != nil {
		return group, err
	}
	world.Brief(&group)
	return group, nil
}

// readGroup reads the group's trajectories and recorded failures. A member with neither, or with a trajectory that was
// damaged after it was recorded, is the store's failure.
func (a *Activities) readGroup(ctx context.Context, st *store.Store, s Stage, task rl.Task, size int) (rl.Group, error) {
	g := rl.Group{Task: task, Trajectories: make([]*rl.Trajectory, size), Failed: make([]string, size)}
	for m := range size {
		key := s.trajectoryKey(task.ID, m)
		t, damage := a.trajectory(ctx, st, key)
		if damage == nil {
			g.Trajectories[m] = t
			continue
		}
		if !absent(damage) {
			return g, damage
		}
		_, f, ok, err := recorded[rl.Failure](ctx, st, store.FailureKey(key))
		if err != nil {
			return g, err
		}
		if !ok {
			f = rl.Failure{LeftOut: rl.StoreFailed, Why: "neither a trajectory nor a failure is recorded: " + damage.Error()}
		}
		g.Failed[m] = fmt.Sprintf("%s: %s", f.LeftOut, f.Why)
	}
	return g, nil
}
