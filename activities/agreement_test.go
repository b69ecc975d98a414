package activities

import (
	"fmt"
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func scores(values ...float64) (s rl.Scores) {
	for _, v := range values {
		s.Scores = append(s.Scores, rl.Score{Value: v})
	}
	return s
}

func TestCompare(t *testing.T) {
	group := func(was, is rl.Scores) Rescored {
		return Rescored{rl.Group{Trajectories: make([]*rl.Trajectory, 4)}, was, is}
	}
	none := scores(0, .5, .6, .7)
	none.Scores[0] = rl.Score{Unscored: "judge: nonsense"}
	var a Agreement
	for _, c := range []struct {
		Rescored
		tau float64
		ok  bool
	}{
		{group(scores(0, 1, 2, 3), scores(0, .1, .3, .2)), 4. / 6, true},
		{group(scores(0, 0, 0, 0), scores(0, .1, .3, .2)), 0, false},
		{group(scores(0, 1, 2, 3), scores(.5, .5, .5, .5)), 0, false},
		{group(scores(9, 3, 2, 1), none), -1, true},
		{group(none, scores(0, 1, 2, 3)), 1, true},
	} {
		if tau, ok := a.compare(c.Rescored); math.Abs(tau-c.tau) > 1e-12 || ok != c.ok {
			t.Errorf("%v against %v: %v %v, want %v %v", c.Was, c.Is, tau, ok, c.tau, c.ok)
		}
	}
	if a.Members != 4*3+3+3 || a.Compared != 3 || a.Flat.Was != 1 || a.Flat.Is != 1 || a.Unscored.Was != 1 || a.Unscored.Is != 1 {
		t.Errorf("%+v", a)
	}
}

func TestSigns(t *testing.T) {
	var a Agreement
	id := rl.EpisodeID{Run: "a", Update: 2, Task: "train-1", Member: 3}
	for _, c := range [][2]float64{{1, 2}, {1, -2}, {-1, .5}, {1, 0}, {0, -1}, {0, 1}, {0, 0}, {1, -1e-16}, {1e-16, -1e-16}} {
		a.sign(id, c[0], c[1])
	}
	if len(a.SignChanges) != 2 || a.SignChanges[0] != (SignChange{"a/2/train-1/3", 1, -2}) || a.Silenced != 2 || a.Awakened != 2 {
		t.Errorf("%+v", a)
	}
}

func TestAgreementsAddUp(t *testing.T) {
	tau := func(v float64) *float64 { return &v }
	var all Agreement
	all.Add(Agreement{Groups: 4, Members: 30, SignChanges: []SignChange{{"x", 1, -1}}})
	if all.TauB != nil {
		t.Errorf("a mean of nothing: %v", *all.TauB)
	}
	all.Add(Agreement{Groups: 4, Compared: 3, TauB: tau(1), Silenced: 2})
	all.Add(Agreement{Groups: 2, Compared: 1, TauB: tau(-1), Awakened: 1, SignChanges: []SignChange{{"y", -1, 1}}, Spent: rl.Spent{Calls: 2}})
	all.Add(Agreement{Groups: 1})
	isAbout(t, "tau_b", all.TauB, .5)
	if all.Groups != 11 || all.Members != 30 || all.Compared != 4 || len(all.SignChanges) != 2 || all.Silenced != 2 || all.Awakened != 1 || all.Spent.Calls != 2 {
		t.Errorf("%+v", all)
	}
}

// Advantages are those that the update was made with: by its own estimator, and also where it trained an older version than the
// one of the update before, as after a fallback.
func TestAgreeAsTheUpdateWasMade(t *testing.T) {
	at := Stage{Run: "a", Update: 30}
	task := rl.Task{ID: "train-1"}
	group := rl.Group{Task: task}
	for m := range 2 {
		made := rl.VersionOf("a", 20)
		group.Trajectories = append(group.Trajectories, &rl.Trajectory{
			Episode: rl.EpisodeID{Run: "a", Update: 30, Task: task.ID, Member: m}, Task: task, Policy: rl.PolicySpan{First: made, Last: made},
			Turns: []rl.Turn{{Action: rl.Action{Version: made, Prompt: []int32{1}, Tokens: []int32{2}, LogProbs: []float32{-1}}}},
		})
	}
	was, is := scores(3, 0), scores(0, 3)
	was.Task, is.Task = task.ID, task.ID
	for use, push := range map[string]float64{"dr_grpo": 1.5, "rloo": 3} {
		cfg := rl.Config{Group: rl.GroupConfig{Size: 2, Quorum: .5}, Advantage: rl.AdvantageConfig{Use: use}}
		found, err := Agree(at, cfg, rl.RewardConfig{Use: "exact"}, []Rescored{{group, was, is}})
		want := []SignChange{{"a/30/train-1/0", push, -push}, {"a/30/train-1/1", -push, push}}
		if err != nil || fmt.Sprint(found.SignChanges) != fmt.Sprint(want) {
			t.Errorf("%s: %+v %v, want %v", use, found, err, want)
		}
	}
}
