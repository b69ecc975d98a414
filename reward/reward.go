package reward

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Reward scores every member of a group, in order: a finite value, or Unscored with the reason. A member without a
// trajectory is always unscored, its reason being the group's own (Group.Failed). A reward changes nothing in the
// group. Task and Reward of the result are the caller's to fill in.
//
// An error means that the scorer itself could not be reached or asked; it is an *rl.Error, and no scores come with
// it. A group that the scorer answered but did not score is not an error: its members are unscored.
type Reward func(ctx context.Context, g rl.Group) (rl.Scores, error)

// Parts are what rewards are made with.
type Parts struct {
	Config rl.RewardConfig
	Seed   uint64 // the run's
	Ask    Ask    // the judge; only the judge needs it
}

var rewards = map[string]func(Parts) Reward{}

// Register adds a reward under a name that is not taken. It is called while packages are initialised.
func Register(name string, make func(Parts) Reward) {
	if _, taken := rewards[name]; taken {
		panic("reward: two rewards are called " + name)
	}
	rewards[name] = make
}

// Names lists the registered rewards, sorted.
func Names() []string { return slices.Sorted(maps.Keys(rewards)) }

// get finds a reward by its name; the error is of kind Invalid and lists the names.
func get(name string, p Parts) (Reward, error) {
	make, ok := rewards[name]
	if !ok {
		return nil, rl.Errorf(rl.Invalid, "reward.use", "%q is not one of %s", name, strings.Join(Names(), ", "))
	}
	return make(p), nil
}

// registerEach adds a reward that scores each trajectory by itself.
func registerEach(name string, score func(rl.RewardConfig, *rl.Trajectory) rl.Score) {
	Register(name, func(p Parts) Reward {
		return func(_ context.Context, g rl.Group) (rl.Scores, error) {
			scores := make([]rl.Score, len(g.Trajectories))
			for i, t := range g.Trajectories {
				if t == nil {
					scores[i] = failed(g, i)
				} else {
					scores[i] = score(p.Config, t)
				}
			}
			return rl.Scores{Scores: scores}, nil
		}
	})
}

// failed is the score of a member whose episode left no trajectory.
func failed(g rl.Group, member int) rl.Score {
	if member < len(g.Failed) && g.Failed[member] != "" {
		return rl.Score{Unscored: g.Failed[member]}
	}
	return rl.Score{Unscored: string(rl.EnvFailed) + ": no trajectory, and no reason was recorded"}
}
