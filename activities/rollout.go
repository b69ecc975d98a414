package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/rl"
)

// RunTrajectoryIn asks for the episodes (group, member) with group in [FirstGroup, FirstGroup+Groups) and member
// in [FirstMember, FirstMember+Members).
type RunTrajectoryIn struct {
	Stage
	Tasks       rl.Ref     `json:"tasks"`
	Version     rl.Version `json:"version"` // the policy to sample from
	FirstGroup  int        `json:"first_group"`
	Groups      int        `json:"groups"`
	FirstMember int        `json:"first_member"`
	Members     int        `json:"members"`
}

// RunTrajectoryOut counts what the episodes came to.
type RunTrajectoryOut struct {
	Episodes int                `json:"episodes"` // with a trajectory
	Failed   map[rl.LeftOut]int `json:"failed,omitempty"`
	Again    int                `json:"again,omitempty"` // begun anew, since their environment went another way than recorded
	Turns    int                `json:"turns"`
	Tokens   int                `json:"tokens"` // sampled
}

// RunTrajectory runs episodes side by side and stores each one's trajectory. An episode that an earlier attempt
// finished is not run again, unless its record is damaged; one that was interrupted goes on at the turn in which it was.
// An episode that fails for good by itself is recorded as failed; it never fails the stage, and it is never a reward.
func (a *Activities) RunTrajectory(ctx context.Context, in RunTrajectoryIn) (RunTrajectoryOut, error) {
	stop := a.beatServing(ctx, in.Stage)
	out, err := a.runTrajectories(ctx, in, activity.GetInfo(ctx).StartedTime.UnixNano())
	stop(err)
	return out, temporalError(ctx, err)
}

// runTrajectories is RunTrajectory for an attempt that began at a time, in nanoseconds by the server's clock.
func (a *Activities) runTrajectories(ctx context.Context, in RunTrajectoryIn, began int64) (out RunTrajectoryOut, err error) {
	st, cfg, all, err := a.openTasks(ctx, in.Stage, in.Tasks)
	if err != nil {
		return out, err
	}
	if in.FirstGroup+in.Groups > len(all) {
		return out, rl.Errorf(rl.Invalid, "store "+in.Tasks.Key, "%d tasks, group %d asked for", len(all), in.FirstGroup+in.Groups-1)
	}
	unpin, err := a.pinned(ctx, st, in.Stage)
	if err != nil {
		return out, err
	}
	defer unpin()
	client, model, err := a.playing(ctx, in.Stage, st, cfg, in.Version)
	if err != nil {
		return out, err
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	out.Failed = map[rl.LeftOut]int{}
	asked := all[in.FirstGroup : in.FirstGroup+in.Groups]
	found, err := in.found(ctx, st, asked)
	if err != nil {
		return out, err
	}
	world, err := a.world(ctx, st, in.Run, cfg.Env)
	if err != nil {
		return out, err
	}
	journal, before, err := a.recall(ctx, st, in.Stage, asked)
	if err != nil {
		return out, err
	}
	for _, task := range asked {
		for m := range in.Members {
			e := episode{Activities: a, stage: in.Stage, in: st, config: cfg, world: world, client: client, found: found, task: task, member: in.FirstMember + m, version: in.Version, model: model}
			id := rl.Member{Task: task.ID, Member: e.member}
			e.line = resume(journal, id, began, before[id])
			wg.Go(func() {
				t, failed, err := e.run(ctx)
				mu.Lock()
				defer mu.Unlock()
				out.Again += e.line.life
				switch {
				case err != nil:
					errs = append(errs, err)
				case t == nil:
					out.Failed[failed.LeftOut]++
				default:
					out.Episodes++
					out.Turns += len(t.Turns)
					out.Tokens += t.ActionTokens()
				}
			})
		}
	}
	wg.Wait()
	return out, worst(errs)
}

// worst joins errors with one that cannot be retried first, since the first decides what Temporal does.
func worst(errs []error) error {
	for i, err := range errs {
		if retry, known := retryable[rl.KindOf(err)]; known && !retry {
			errs[0], errs[i] = errs[i], errs[0]
			break
		}
	}
	if len(errs) > 1 {
		return fmt.Errorf("%w (and %d more episodes)", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}
