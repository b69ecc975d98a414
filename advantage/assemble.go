package advantage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Stats describes the collected groups of an update. The first four fields mean what those of rl.UpdateSummary mean.
type Stats struct {
	Success              float64 // share of scored trajectories that the environment, or else the reward, gives 1 or more
	RewardMean           float64 // over scored trajectories
	RewardStd            float64 // population standard deviation, mean over groups with a score
	ZeroVarianceFraction float64 // share of groups that nothing distinguishes, left out as zero_variance or kept
	JudgeFlatFraction    float64 // share of groups left out as judge_flat
	Tokens               int     // sampled, of all trajectories
	Turns                int     // of all trajectories
}

// Assemble makes the batch of an update and the ledger that says where every rollout ended. It is pure: the same
// groups and scores give the same rows, in the order (group, member). scores[i] belongs to groups[i].
//
// A rollout is left out for the first of these that holds:
//
//	failed_*       it has no trajectory; the reason begins with the kind (failed_environment when it does not)
//	unscored       its score or a turn's reward is not rl.Countable; or failed_judge, when the score's reason begins with that
//	stale          current version (update-1) minus the first version that sampled it > group.max_staleness
//	no_action, no_logprobs, failed_store   it gives no training rows (see rl.Trajectory.Samples)
//	below_quorum   fewer than group.quorum of its group are scored and fresh
//	judge_flat     the judge says that its group's scores differ by no more than its own noise
//	singleton, zero_variance   its group holds no relative information, and is not kept (advantage.singleton, zero_variance)
//
// Members that are scored and fresh make up the group's statistics, also those without training rows: what they
// earned is information about the others. Groups below the quorum, and flat ones, are in no statistics.
//
// The error is New's, for an advantage configuration that is not valid.
func Assemble(run rl.RunID, update rl.UpdateNumber, groups []rl.Group, scores []rl.Scores, cfg rl.Config) (rl.Batch, rl.Ledger, Stats, error) {
	estimate, err := New(cfg.Advantage)
	if err != nil {
		return rl.Batch{}, rl.Ledger{}, Stats{}, err
	}
	cfg.Advantage = settled(cfg.Advantage)
	a := assembly{
		update: update, cfg: cfg,
		ledger: rl.Ledger{Schema: rl.LedgerSchema, Run: run, Update: update, LeftOut: map[rl.LeftOut]int{}},
	}
	all := make([]gathered, len(groups))
	for i, g := range groups {
		var judged rl.Scores
		if i < len(scores) {
			judged = scores[i]
		}
		all[i] = a.gather(g, judged)
	}
	a.estimate(all, estimate)
	for _, g := range all {
		a.settle(g)
	}
	a.batch.Versions = versions(a.trained)
	a.ledger.Balance()
	a.ledger.Signals = signals(groups, scores, a.ledger, a.batch)
	return a.batch, a.ledger, a.tally.stats(len(groups)), nil
}

type assembly struct {
	update  rl.UpdateNumber
	cfg     rl.Config
	batch   rl.Batch
	ledger  rl.Ledger
	trained []*rl.Trajectory
	tally   tally
}

// gathered is a group on its way into the batch: a slot and the rows of each member, and those that make up its statistics.
type gathered struct {
	rl.Group
	slots   []rl.Slot
	rows    [][]rl.Sample
	counted []int    // members, by their index
	members []Member // what the estimator knows of them
	why     rl.LeftOut
	words   string
	turns   [][]float64 // advantages of the counted members
}

// gather finds a group's members that count.
func (a *assembly) gather(group rl.Group, judged rl.Scores) gathered {
	g := gathered{Group: group}
	// Nobody is forgotten, even where the two lists disagree.
	g.Trajectories = append(slices.Clone(g.Trajectories), make([]*rl.Trajectory, max(0, len(g.Failed)-len(g.Trajectories)))...)
	g.slots, g.rows = make([]rl.Slot, len(g.Trajectories)), make([][]rl.Sample, len(g.Trajectories))
	for i, t := range g.Trajectories {
		slot := &g.slots[i]
		*slot = rl.Slot{Task: g.Task.ID, Member: i}
		if t == nil {
			slot.LeftOut, slot.Why = failure(g.Group, i)
			continue
		}
		slot.Tokens, slot.Turns, slot.Stop = t.ActionTokens(), len(t.Turns), t.Stop
		a.tally.played(t)
		score := scoreOf(g.Group, judged, i)
		if !score.Scored() {
			slot.LeftOut, slot.Why = rl.LeftOutOf(score.Unscored, rl.Unscored), score.Unscored
			continue
		}
		slot.Score = score.Value
		a.tally.scored(score.Value, t.Outcome)
		if why := a.stale(t); why != "" {
			slot.LeftOut, slot.Why = rl.Stale, why
			continue
		}
		g.counted = append(g.counted, i)
		g.members = append(g.members, Member{score, components(score, a.cfg.Reward), t.Turns})
		g.rows[i], slot.LeftOut = t.Samples()
	}
	if need := rl.Quorum(a.cfg.Group.Quorum, len(g.slots)); len(g.counted) < need {
		g.why, g.words = rl.BelowQuorum, fmt.Sprintf("%d of %d members are scored and fresh; the quorum is %d", len(g.counted), len(g.slots), need)
	} else if judged.Flat != "" {
		g.why, g.words = rl.JudgeFlat, judged.Flat
	}
	a.tally.closed()
	return g
}

// estimate gives the members of all groups that count their advantages.
func (a *assembly) estimate(all []gathered, estimate Estimator) {
	var groups [][]Member
	for _, g := range all {
		if g.why == "" {
			groups = append(groups, g.members)
		}
	}
	estimates := estimate(groups)
	for i := range all {
		g := &all[i]
		if g.why == "" {
			g.turns, g.why = estimates[0].Turns, estimates[0].Why
			estimates = estimates[1:]
		}
		a.tally.judged(g.why)
		if keeps(a.cfg.Advantage, g.why) {
			g.why = ""
		}
	}
}

// settle adds a group's rows to the batch, and its slots to the ledger.
func (a *assembly) settle(g gathered) {
	for k, i := range g.counted {
		slot := &g.slots[i]
		if slot.LeftOut == "" && g.why != "" {
			slot.LeftOut, slot.Why = g.why, g.words
		}
		if slot.LeftOut == "" {
			slot.Samples = len(g.rows[i])
			a.train(g.Trajectories[i], g.rows[i], g.turns[k])
		}
	}
	a.enter(g.slots)
}

// train adds a member's rows, each turn's advantage at the tokens that were sampled in it: they stand in the rows in the
// order of the turns.
func (a *assembly) train(t *rl.Trajectory, rows []rl.Sample, turns []float64) {
	turn, left := -1, 0
	for _, row := range rows {
		for i, sampled := range row.LossMask {
			if !sampled {
				continue
			}
			if left == 0 {
				turn++
				left = len(t.Turns[turn].Action.Tokens)
			}
			row.Advantages[i] = float32(turns[turn])
			left--
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

// stale says why a trajectory is too old, or nothing. A server may have answered single turns with another version than
// it was asked for: the oldest counts.
func (a *assembly) stale(t *rl.Trajectory) string {
	sampled := []rl.Version{t.Policy.First}
	for _, turn := range t.Turns {
		sampled = append(sampled, turn.Action.Version)
	}
	for _, v := range slices.Compact(sampled) {
		run, n, err := v.Parse()
		if err != nil {
			return err.Error()
		}
		if run != a.ledger.Run {
			return fmt.Sprintf("sampled by %s, which is no version of this run", v)
		}
		if lag := int(a.update-1) - int(n); lag > a.cfg.Group.MaxStaleness {
			return fmt.Sprintf("sampled by %s, %d versions behind; max_staleness is %d", v, lag, a.cfg.Group.MaxStaleness)
		}
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
