package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/gateway"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/store"
)

// An episode is tried episodeTries times when its environment fails, and as often when the policy does not reply within
// the turn's time, before the failure is its recorded result. Outages of the policy and the store are waited for
// instead, as long as they last.
const (
	episodeTries = 3
	episodePause = 500 * time.Millisecond // before the second try; twice that before the third
)

// episode is one rollout to do.
type episode struct {
	*Activities
	stage   Stage
	in      *store.Store
	config  rl.Config
	world   envs.World
	client  *policy.Client
	found   map[string]bool // keys that earlier attempts recorded for the group
	task    rl.Task
	member  int
	version rl.Version
	model   string // what the servers call the version
	line    *line  // of the journal
}

// run returns the recorded trajectory or failure of the episode, doing the rollout when there is neither.
func (e episode) run(ctx context.Context) (*rl.Trajectory, rl.Failure, error) {
	key := e.stage.trajectoryKey(e.task.ID, e.member)
	failed := store.FailureKey(key)
	if e.found[key] {
		if t, err := e.trajectory(ctx, e.in, key); !absent(err) {
			return t, rl.Failure{}, err
		}
	}
	if e.found[failed] {
		if _, f, ok, err := recorded[rl.Failure](ctx, e.in, failed); ok || err != nil {
			return nil, f, err
		}
	}
	t, why, err := e.tried(ctx)
	switch {
	case err != nil:
		return nil, rl.Failure{}, err
	case t == nil:
		_, f, err := store.PutJSON(ctx, e.in, failed, why)
		return nil, f, err
	}
	t, err = e.putTrajectory(ctx, e.in, key, t)
	return t, rl.Failure{}, err
}

// tried plays the episode until it is over or has failed for good. The error is one that is not the episode's own.
func (e episode) tried(ctx context.Context) (*rl.Trajectory, rl.Failure, error) {
	failures := map[rl.LeftOut]int{}
	for try := 1; ; try++ {
		t, err := e.roll(ctx)
		if err == nil {
			return t, rl.Failure{}, nil
		}
		if ctx.Err() == nil && errors.Is(err, rollout.ErrDiverged) && e.again(err) {
			continue
		}
		boundary, final := rollout.OwnFailure(err)
		if ctx.Err() != nil || boundary == "" {
			return nil, rl.Failure{}, err
		}
		if failures[boundary]++; final || failures[boundary] == episodeTries {
			return nil, rl.Failure{LeftOut: boundary, Why: words(err)}, nil
		}
		select {
		case <-time.After(time.Duration(try) * episodePause):
		case <-ctx.Done():
			return nil, rl.Failure{}, ctx.Err()
		}
	}
}

// again begins an episode anew that went another way than it is recorded, if it may.
func (e episode) again(cause error) bool {
	if !rollout.Repeatable(e.world.New().Spec(), e.line.turns) {
		return false
	}
	e.log().Warn("an episode is begun anew", "episode", e.stage.episode(e.task.ID, e.member), "why", cause)
	e.line.void()
	return true
}

// roll plays the episode.
func (e episode) roll(ctx context.Context) (*rl.Trajectory, error) {
	o := e.options()
	o.Recorded, o.Record, o.RecordResult = e.line.turns, e.line.record, e.line.recordResult
	o.Claim = func(ctx context.Context, turn, call, try int) (bool, error) {
		return e.line.claim(ctx, e.in, store.ClaimKey(e.stage.trajectoryKey(e.task.ID, e.member), turn, call, try))
	}
	o.Key = e.name()
	if lives := e.line.voided + e.line.life; lives > 0 {
		o.Key += fmt.Sprintf("~%d", lives) // the calls of an episode that is begun anew are others
	}
	return e.play(ctx, o)
}

// play plays the episode as it is told: in an environment turn by turn, or by an agent that takes its turns itself.
func (e episode) play(ctx context.Context, o rollout.Options) (*rl.Trajectory, error) {
	own := e.world.New()
	if agent, ok := own.(*gateway.Agent); ok {
		server, err := e.gateway()
		if err != nil {
			return nil, err
		}
		if n := len(o.Recorded); n > 0 {
			e.log().Warn("an agent is run again: it is given the answers on record", "episode", o.Episode, "turns", n)
		}
		return agent.Run(ctx, server, e.client, o)
	}
	env := envs.Guard(own, e.world.Name)
	defer env.Close()
	return rollout.Run(ctx, env, e.client, o)
}

// name is what the keys of the episode's calls begin with. Evaluations of one version are told apart by theirs.
func (e episode) name() string {
	if e.stage.Evaluation != "" {
		return fmt.Sprintf("%s/%s/%s/%d", rl.VersionOf(e.stage.Run, e.stage.Update), e.stage.Evaluation, e.task.ID, e.member)
	}
	return e.stage.episode(e.task.ID, e.member).String()
}

// options say how the episode is played, by the run's configuration.
func (e episode) options() rollout.Options {
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
	return rollout.Options{
		Episode:     e.stage.episode(e.task.ID, e.member),
		Task:        e.task,
		Model:       e.model,
		Version:     e.version,
		Temperature: temperature, MaxTokens: e.config.Sampling.MaxTokens, MaxTurns: e.config.Env.MaxTurns,
		EpisodeTimeout: time.Duration(e.config.Env.EpisodeTimeout), TurnTimeout: time.Duration(e.config.Env.TurnTimeout),
		Seed: seed, Training: e.stage.Evaluation == "" && e.config.Updates > 0,
	}
}
