package advantage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Stats describes the collected groups of an update. The first four fields mean what those of rl.UpdateSummary mean.
type Stats struct {
	Success              float64 // share of scored trajectories with a score of 1 or more
	RewardMean           float64 // over scored trajectories
	RewardStd            float64 // population standard deviation, mean over groups with a score
	ZeroVarianceFraction float64 // share of groups left out as zero_variance
	Tokens               int     // sampled, of all trajectories
	Turns                int     // of all trajectories
}

// Assemble makes the batch of an update and the ledger that says where every rollout ended. It is pure: the same
// groups and scores give the same rows, in the order (group, member). scores[i] belongs to groups[i].
//
// A rollout is left out for the first of these that holds:
//
//	failed_*       it has no trajectory; the reason begins with the kind (failed_environment when it does not)
//	unscored       its score has no finite value; or failed_judge, when the score's reason begins with that
//	stale          current version (update-1) minus the first version that sampled it > group.max_staleness
//	no_action, no_logprobs, failed_store   it gives no training rows (see rl.Trajectory.Samples)
//	below_quorum   fewer than group.quorum of its group are scored and fresh
//	singleton, zero_variance   its group holds no relative information
//
// Members that are scored and fresh make up the group's statistics, also those without training rows: what they
// earned is information about the others.
//
// The error is New's, for an advantage configuration that is not valid.
func Assemble(run rl.RunID, update rl.UpdateNumber, groups []rl.Group, scores []rl.Scores, cfg rl.Config) (rl.Batch, rl.Ledger, Stats, error) {
	estimate, err := New(cfg.Advantage)
	if err != nil {
		return rl.Batch{}, rl.Ledger{}, Stats{}, err
	}
	a := assembly{
		update: update, cfg: cfg, estimate: estimate,
		ledger: rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: update, LeftOut: map[rl.LeftOut]int{}},
	}
	for i, g := range groups {
		var judged rl.Scores
		if i < len(scores) {
			judged = scores[i]
		}
		a.group(g, judged)
	}
	a.batch.Versions = versions(a.trained)
	a.ledger.Balance()
	return a.batch, a.ledger, a.tally.stats(len(groups)), nil
}

type assembly struct {
	update   rl.UpdateNumber
	cfg      rl.Config
	estimate Estimator
	batch    rl.Batch
	ledger   rl.Ledger
	trained  []*rl.Trajectory
	tally    tally
}

// group adds one group's rows and slots.
func (a *assembly) group(g rl.Group, judged rl.Scores) {
	// Nobody is forgotten, even where the two lists disagree.
	g.Trajectories = append(slices.Clone(g.Trajectories), make([]*rl.Trajectory, max(0, len(g.Failed)-len(g.Trajectories)))...)
	slots := make([]rl.Slot, len(g.Trajectories))
	rows := make([][]rl.Sample, len(g.Trajectories))
	var counted []int // members that make up the group's statistics
	var values []float64
	for i, t := range g.Trajectories {
		slots[i] = rl.Slot{Task: g.Task.ID, Member: i}
		if t == nil {
			slots[i].LeftOut, slots[i].Why = failure(g, i)
			continue
		}
		slots[i].Tokens, slots[i].Turns, slots[i].Stop = t.ActionTokens(), len(t.Turns), t.Stop
		a.tally.played(t)
		score := scoreOf(g, judged, i)
		if !score.Scored() {
			slots[i].LeftOut, slots[i].Why = rl.LeftOutOf(score.Unscored, rl.Unscored), score.Unscored
			continue
		}
		slots[i].Score = score.Value
		a.tally.scored(score.Value)
		if why := a.stale(t); why != "" {
			slots[i].LeftOut, slots[i].Why = rl.Stale, why
			continue
		}
		counted, values = append(counted, i), append(values, score.Value)
		rows[i], slots[i].LeftOut = t.Samples()
	}
	advantages, why, words := a.advantages(values, len(slots))
	for k, i := range counted {
		if slots[i].LeftOut == "" && why != "" {
			slots[i].LeftOut, slots[i].Why = why, words
		}
		if slots[i].LeftOut == "" {
			slots[i].Samples = len(rows[i])
			a.train(g.Trajectories[i], rows[i], advantages[k])
		}
	}
	a.tally.closed(why)
	a.enter(slots)
}

// advantages estimates those of a group's counted members, or says why the group does not count.
func (a *assembly) advantages(values []float64, asked int) (advantages []float64, why rl.LeftOut, words string) {
	if need := rl.Quorum(a.cfg.Group.Quorum, asked); len(values) < need {
		return nil, rl.BelowQuorum, fmt.Sprintf("%d of %d members are scored and fresh; the quorum is %d", len(values), asked, need)
	}
	advantages, why = a.estimate(values)
	return advantages, why, ""
}

// train adds a member's rows, its advantage at every sampled token.
func (a *assembly) train(t *rl.Trajectory, rows []rl.Sample, advantage float64) {
	for _, row := range rows {
		for i, sampled := range row.LossMask {
			if sampled {
				row.Advantages[i] = float32(advantage)
			}
		}
	}
	a.batch.Samples = append(a.batch.Samples, rows...)
	a.trained = append(a.trained, t)
}

// enter writes a group's slots into the ledger.
func (a *assembly) enter(slots []rl.Slot) {
	for _, s := range slots {
		a.ledger.Asked++
		a.ledger.Tokens += s.Tokens
		if s.Stop.Truncated() {
			a.ledger.Truncated++
		}
		if s.LeftOut == "" {
			a.ledger.Trained++
		} else {
			a.ledger.LeftOut[s.LeftOut]++
		}
	}
	a.ledger.Slots = append(a.ledger.Slots, slots...)
}

// stale says why a trajectory is too old, or nothing.
func (a *assembly) stale(t *rl.Trajectory) string {
	_, first, err := t.Policy.First.Parse()
	if err != nil {
		return err.Error()
	}
	if lag := int(a.update-1) - int(first); lag > a.cfg.Group.MaxStaleness {
		return fmt.Sprintf("sampled by %s, %d versions behind; max_staleness is %d", t.Policy.First, lag, a.cfg.Group.MaxStaleness)
	}
	return ""
}

// versions lists the policies that sampled the trajectories, oldest first, each once.
func versions(trained []*rl.Trajectory) (out []rl.Version) {
	for _, t := range trained {
		for _, turn := range t.Turns {
			out = append(out, turn.Action.Version)
		}
	}
	slices.SortFunc(out, func(x, y rl.Version) int {
		_, n, _ := x.Parse()
		_, m, _ := y.Parse()
		return cmp.Or(cmp.Compare(n, m), cmp.Compare(x, y))
	})
	return slices.Compact(out)
}
