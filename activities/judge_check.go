package activities

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// JudgeCheck is how a judge agrees with what is known of recorded groups, and with itself: it is asked about each group with two
// seeds, which means in other orders. A number that the groups do not give is null.
type JudgeCheck struct {
	Groups   int `json:"groups"`
	Members  int `json:"members"`  // scored with both seeds
	Unscored int `json:"unscored"` // with one of the seeds, or both

	// With the outcomes that the environment gave. Informative counts the groups with outcomes that differ, Pairs such pairs of
	// members, and Accuracy is the share of them in the right order, ties as half; TauB is the mean tau_b within groups where both
	// differ; AUC compares successes (1 or more) and failures of all groups, where all outcomes are at most 0 or at least 1.
	Informative int      `json:"informative"`
	Pairs       int      `json:"pairs"`
	Accuracy    *float64 `json:"accuracy"`
	TauB        *float64 `json:"tau_b"`
	AUC         *float64 `json:"auc"`

	// With itself, between the seeds. SelfTauB is the mean within groups; SelfStd the standard deviation of one scoring of an attempt,
	// from the differences d of two: sqrt(mean(d^2) / 2).
	SelfTauB *float64 `json:"self_tau_b"`
	SelfStd  *float64 `json:"self_std"`

	// EarlyBias is the mean over groups of reward.EarlyBias over all replies, EarlyBiasError the standard error of that mean; null
	// with reward.order fixed, where a place and the attempt that has it are the same.
	EarlyBias      *float64 `json:"early_bias"`
	EarlyBiasError *float64 `json:"early_bias_error"`

	Ties  *float64 `json:"ties_fraction"` // of the pairs of a group; attempts that read alike are ties always
	Spent rl.Spent `json:"spent"`         // what the answers took, whenever they were given: each is paid once
}

// GroupAt names a group of a run.
type GroupAt struct {
	Update rl.UpdateNumber
	Task   rl.TaskID
}

// CheckGroups picks at most n of a run's groups with recorded scores, of the updates given: by the hash of their names, so that the
// same ones are picked again.
func (a *Activities) CheckGroups(ctx context.Context, s Stage, updates []rl.UpdateNumber, n int) (picked []GroupAt, err error) {
	st, cfg, err := a.open(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, s.Update = range updates {
		scored, err := recordedScores(ctx, st, s)
		if rl.KindOf(err) == rl.NotFound { // not that far
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, t := range scored {
			picked = append(picked, GroupAt{s.Update, t.task.ID})
		}
	}
	rank := func(g GroupAt) uint64 { return rl.Seed(cfg.Sampling.Seed, "judge check", g.Update, g.Task) }
	slices.SortFunc(picked, func(x, y GroupAt) int { return cmp.Compare(rank(x), rank(y)) })
	return picked[:min(n, len(picked))], nil
}

// CheckJudge measures the judge that a reward asks, alone, on groups of a run. Its answers are recorded with the groups as those of
// the run's own judge are, whose seed is one of the two: what has been answered is not paid for again. Errors as Rescore's.
func (a *Activities) CheckJudge(ctx context.Context, s Stage, by rl.RewardConfig, groups []GroupAt, tell Telling) (JudgeCheck, error) {
	st, cfg, err := a.open(ctx, s)
	if err != nil {
		return JudgeCheck{}, err
	}
	by.Use, by.Gate, by.Add, by.DeadBand = "judge", "", rl.RewardWeights{}, 0 // its own scores, however close they are
	found := make([]checked, len(groups))
	err = eachGroup(ctx, len(groups), by, func(i int) (err error) {
		own := s
		own.Update = groups[i].Update
		if found[i], err = a.checkGroup(ctx, st, own, cfg, by, groups[i].Task, tell.waits); err == nil {
			tell.done(len(groups))
		}
		return err
	})
	if err != nil {
		return JudgeCheck{}, err
	}
	return measured(found, by.Order != "fixed"), nil
}

// checked is a group scored twice.
type checked struct {
	twice    [2][]float64 // of the members that have both
	outcomes []float64    // of these; NaN where the environment gave none
	unscored int
	early    []float64 // reward.EarlyBias, by reply
	spent    rl.Spent
}

func (a *Activities) checkGroup(ctx context.Context, st *store.Store, s Stage, cfg rl.Config, by rl.RewardConfig, task rl.TaskID, waits func(error)) (c checked, err error) {
	tasks, err := st.Tasks(ctx, s.Run, s.Update)
	if err != nil {
		return c, err
	}
	at := slices.IndexFunc(tasks, func(t rl.Task) bool { return t.ID == task })
	if at < 0 {
		return c, rl.Errorf(rl.NotFound, fmt.Sprintf("%s/%d/%s", s.Run, s.Update, task), "the update has no such task")
	}
	group, err := a.told(ctx, st, s, cfg, by, tasks[at])
	if err != nil {
		return c, err
	}
	var scores [2]rl.Scores
	for i, seed := range []uint64{cfg.Sampling.Seed, rl.Seed(cfg.Sampling.Seed, "judge check")} {
		var early []float64
		err := patiently(ctx, waits, func() (err error) {
			early = nil
			scores[i], err = a.scoreHeard(ctx, st, s.Run, s.Update, by, seed, group, func(q reward.Question, r reward.Reply) {
				if bias, ok := reward.EarlyBias(reward.ByPlace(q, r)); ok {
					early = append(early, bias)
				}
			})
			return err
		})
		if err != nil {
			return c, err
		}
		c.early = append(c.early, early...)
		c.spent.Add(scores[i].Spent)
	}
	for m, t := range group.Trajectories {
		one, other := scores[0].Scores[m], scores[1].Scores[m]
		switch {
		case t == nil:
		case !one.Scored() || !other.Scored():
			c.unscored++
		default:
			c.twice[0], c.twice[1] = append(c.twice[0], one.Value), append(c.twice[1], other.Value)
			outcome := math.NaN()
			if t.Outcome.Scored() {
				outcome = t.Outcome.Value
			}
			c.outcomes = append(c.outcomes, outcome)
		}
	}
	return c, nil
}
