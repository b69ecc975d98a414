package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/store"
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
	Turns    int                `json:"turns"`
	Tokens   int                `json:"tokens"` // sampled
}

// environmentAttempts is how often an episode is tried when its environment fails, before the failure is its
// recorded result. Outages of the policy and the store are waited for instead, as long as they last.
const environmentAttempts = 3

// RunTrajectory runs episodes side by side and stores each one's trajectory. An episode that an earlier attempt
// finished is not run again. An episode whose environment fails for good is recorded as failed; it never fails
// the stage, and it is never a reward.
func (a *Activities) RunTrajectory(ctx context.Context, in RunTrajectoryIn) (RunTrajectoryOut, error) {
	defer beat(ctx)()
	out, err := a.runTrajectories(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) runTrajectories(ctx context.Context, in RunTrajectoryIn) (out RunTrajectoryOut, err error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	all, err := a.tasksOf(ctx, st, in.Tasks)
	if err != nil {
		return out, err
	}
	if in.FirstGroup+in.Groups > len(all) {
		return out, rl.Errorf(rl.Invalid, "store "+in.Tasks.Key, "%d tasks, group %d asked for", len(all), in.FirstGroup+in.Groups-1)
	}
	client, err := a.policy(in.Stage, st, cfg)
	if err != nil {
		return out, err
	}
	if cfg.Policy.Use == "tiny" {
		if err := a.ready(ctx, in.Stage, st, cfg, in.Version); err != nil {
			return out, err
		}
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
	for _, task := range asked {
		for m := range in.Members {
			e := episode{Activities: a, stage: in.Stage, in: st, config: cfg, client: client, found: found, task: task, member: in.FirstMember + m, version: in.Version}
			wg.Go(func() {
				t, failed, err := e.run(ctx)
				mu.Lock()
				defer mu.Unlock()
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

// episode is one rollout to do.
type episode struct {
	*Activities
	stage   Stage
	in      *store.Store
	config  rl.Config
	client  *policy.Client
	found   map[string]bool // keys that earlier attempts recorded for the group
	task    rl.Task
	member  int
	version rl.Version
}

// failure is the recorded result of an episode that has no trajectory.
type failure struct {
	LeftOut rl.LeftOut `json:"left_out"`
	Why     string     `json:"why"`
}

// run returns the recorded trajectory or failure of the episode, doing the rollout when there is neither.
func (e episode) run(ctx context.Context) (*rl.Trajectory, failure, error) {
	key := e.stage.trajectoryKey(e.task.ID, e.member)
	failed := store.FailureKey(key)
	switch {
	case e.found[key]:
		t, err := e.trajectory(ctx, e.in, key)
		return t, failure{}, err
	case e.found[failed]:
		_, f, err := store.FindJSON[failure](ctx, e.in, failed)
		return nil, f, err
	}
	t, err := e.roll(ctx)
	if err != nil {
		return e.fail(ctx, failed, err)
	}
	t, err = e.putTrajectory(ctx, e.in, key, t)
	return t, failure{}, err
}

// roll plays the episode.
func (e episode) roll(ctx context.Context) (*rl.Trajectory, error) {
	world, err := envs.Get(e.config.Env.Use)
	if err != nil {
		return nil, err
	}
	env := world.New()
	defer env.Close()
	temperature := e.config.Sampling.Temperature
	if e.stage.Evaluation != "" && e.member == greedyMember {
		temperature = 0
	}
	phase := "update"
	if e.stage.Evaluation != "" {
		phase = "evaluation" // every version is asked with the same seeds
	}
	seed := rl.Seed(e.config.Sampling.Seed, phase, e.task.ID, e.member)
	if e.stage.Evaluation == "" {
		seed = rl.Seed(seed, e.stage.Update)
	}
	return rollout.Run(ctx, env, e.client, rollout.Options{
		Episode:     e.stage.episode(e.task.ID, e.member),
		Task:        e.task,
		Model:       string(e.version),
		Version:     e.version,
		Temperature: temperature, MaxTokens: e.config.Sampling.MaxTokens, MaxTurns: e.config.Env.MaxTurns,
		EpisodeTimeout: time.Duration(e.config.Env.EpisodeTimeout), TurnTimeout: time.Duration(e.config.Env.TurnTimeout),
		Seed: seed,
	})
}

// fail records the failure of an environment once it has had its attempts. Everything else is returned: the
// stage is retried, or ends when retrying cannot help.
func (e episode) fail(ctx context.Context, key string, err error) (*rl.Trajectory, failure, error) {
	if ctx.Err() != nil || leftOut(err) != rl.EnvFailed || activity.GetInfo(ctx).Attempt < environmentAttempts {
		return nil, failure{}, err
	}
	_, f, err := store.PutJSON(ctx, e.in, key, failure{LeftOut: rl.EnvFailed, Why: err.Error()})
	return nil, f, err
}
