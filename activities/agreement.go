package activities

import (
	"math"

	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// Agreement is how the scores of a second reward agree with the recorded ones.
type Agreement struct {
	Groups  int `json:"groups"`
	Members int `json:"members"` // scored by both
	// Unscored counts the members that only one of the two scored, by which it is that did not.
	Unscored struct {
		Was int `json:"was"`
		Is  int `json:"is"`
	} `json:"unscored"`
	// Flat counts the groups in which one of the two tells no members apart. They have no tau_b.
	Flat struct {
		Was int `json:"was"`
		Is  int `json:"is"`
	} `json:"flat"`
	Compared int `json:"compared"` // groups in which both do
	// TauB is Kendall's tau_b (reward.TauB) within groups, its mean over those compared; null: there are none.
	TauB *float64 `json:"tau_b"`
	// SignChanges are the members that the one reward's advantages push up and the other's down.
	SignChanges []SignChange `json:"sign_changes"`
	// Silenced counts the members with an advantage under the recorded scores alone, Awakened those with one under the new ones
	// alone: in the other case it is 0, or they are left out.
	Silenced int `json:"silenced"`
	Awakened int `json:"awakened"`
	// Spent is what the new scores' answers took, whenever they were given: each is paid once.
	Spent rl.Spent `json:"spent"`
}

// SignChange is an episode's advantage, a mean over its sampled tokens, under both scores.
type SignChange struct {
	Episode string  `json:"episode"` // RUN/UPDATE/TASK/MEMBER
	Was     float64 `json:"was"`
	Is      float64 `json:"is"`
}

// Agree compares the two scorings of an update's groups. Advantages are those that the estimator of cfg, which the update was made
// with, gives of all groups together, with the reward `by` for the new scores. The error is advantage.New's.
func Agree(s Stage, cfg rl.Config, by rl.RewardConfig, groups []Rescored) (Agreement, error) {
	out := Agreement{Groups: len(groups), SignChanges: []SignChange{}}
	taus := 0.0
	for _, g := range groups {
		if tau, ok := out.compare(g); ok {
			taus += tau
		}
		out.Spent.Add(g.Is.Spent)
	}
	if out.Compared > 0 {
		mean := taus / float64(out.Compared)
		out.TauB = &mean
	}
	was, err := advantages(s, cfg, groups, func(r Rescored) rl.Scores { return r.Was })
	if err != nil {
		return out, err
	}
	cfg.Reward = by
	is, err := advantages(s, cfg, groups, func(r Rescored) rl.Scores { return r.Is })
	if err != nil {
		return out, err
	}
	for _, g := range groups {
		for m := range g.Trajectories {
			id := rl.EpisodeID{Run: s.Run, Update: s.Update, Task: g.Task.ID, Member: m}
			out.sign(id, was[id], is[id])
		}
	}
	return out, nil
}

// compare counts a group.
func (a *Agreement) compare(g Rescored) (tau float64, ok bool) {
	var was, is []float64
	for m := range g.Trajectories {
		if m >= len(g.Was.Scores) || m >= len(g.Is.Scores) {
			break
		}
		one, other := g.Was.Scores[m], g.Is.Scores[m]
		switch {
		case one.Scored() && other.Scored():
			was, is = append(was, one.Value), append(is, other.Value)
		case one.Scored():
			a.Unscored.Is++
		case other.Scored():
			a.Unscored.Was++
		}
	}
	a.Members += len(was)
	if tau, ok = reward.TauB(was, is); ok {
		a.Compared++
		return tau, ok
	}
	if !differ(was) {
		a.Flat.Was++
	}
	if !differ(is) {
		a.Flat.Is++
	}
	return 0, false
}

func differ(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}

// leastAdvantage is the smallest that counts: of a member with just its group's mean, rounding leaves less.
const leastAdvantage = 1e-9

// sign enters a member's advantages.
func (a *Agreement) sign(id rl.EpisodeID, was, is float64) {
	before, after := math.Abs(was) > leastAdvantage, math.Abs(is) > leastAdvantage
	switch {
	case before && after && (was > 0) != (is > 0):
		a.SignChanges = append(a.SignChanges, SignChange{id.String(), was, is})
	case before && !after:
		a.Silenced++
	case after && !before:
		a.Awakened++
	}
}

// advantages are those of the members that scores would have an update train on.
func advantages(s Stage, cfg rl.Config, groups []Rescored, of func(Rescored) rl.Scores) (map[rl.EpisodeID]float64, error) {
	played, scores := make([]rl.Group, len(groups)), make([]rl.Scores, len(groups))
	for i, g := range groups {
		played[i], scores[i] = g.Group, of(g)
	}
	batch, _, _, err := advantage.Assemble(s.Run, newest(groups)+1, played, scores, cfg)
	if err != nil {
		return nil, err
	}
	rows := map[rl.EpisodeID][]rl.Sample{}
	for _, row := range batch.Samples {
		rows[row.Episode] = append(rows[row.Episode], row)
	}
	out := map[rl.EpisodeID]float64{}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if t != nil {
				out[t.Episode] = t.MeanAdvantage(t.TurnAdvantages(rows[t.Episode]))
			}
		}
	}
	return out, nil
}

// newest is the update that made the newest version among those that sampled the groups. Staleness counts from it: after a
// fallback an update trains a version that is older than the update before.
func newest(groups []Rescored) (n rl.UpdateNumber) {
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if t == nil {
				continue
			}
			if _, made, err := t.Policy.Last.Parse(); err == nil {
				n = max(n, made)
			}
		}
	}
	return n
}

// Add takes in what was compared in further updates.
func (a *Agreement) Add(o Agreement) {
	if n := a.Compared + o.Compared; o.TauB != nil {
		mean := *o.TauB
		if a.TauB != nil {
			mean = (float64(*a.TauB*float64(a.Compared)) + float64(*o.TauB*float64(o.Compared))) / float64(n)
		}
		a.TauB = &mean
	}
	a.Groups, a.Members, a.Compared = a.Groups+o.Groups, a.Members+o.Members, a.Compared+o.Compared
	a.Unscored.Was, a.Unscored.Is = a.Unscored.Was+o.Unscored.Was, a.Unscored.Is+o.Unscored.Is
	a.Flat.Was, a.Flat.Is = a.Flat.Was+o.Flat.Was, a.Flat.Is+o.Flat.Is
	a.SignChanges = append(a.SignChanges, o.SignChanges...)
	a.Silenced, a.Awakened = a.Silenced+o.Silenced, a.Awakened+o.Awakened
	a.Spent.Add(o.Spent)
}
