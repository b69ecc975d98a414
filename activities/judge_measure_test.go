package activities

import (
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func isAbout(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-12 {
		if got != nil {
			t.Errorf("%s is %v, want %v", what, *got, want)
			return
		}
		t.Errorf("%s is null, want %v", what, want)
	}
}

func TestMeasured(t *testing.T) {
	c := measured([]checked{
		// Right with the first seed; with the second, one of the two pairs with different outcomes is turned round.
		{twice: [2][]float64{{.9, .5, .1}, {.9, .3, .5}}, outcomes: []float64{1, 1, 0}, unscored: 1, early: []float64{.2, .4}, spent: rl.Spent{Calls: 4, USD: .5}},
		// Outcomes alike, a tie, and a member without an outcome.
		{twice: [2][]float64{{.5, .5, .7}, {.5, .5, .7}}, outcomes: []float64{0, 0, math.NaN()}, early: []float64{-.1}, spent: rl.Spent{Calls: 2}},
		{unscored: 3},
	}, true)
	if c.Groups != 3 || c.Members != 6 || c.Unscored != 4 || c.Informative != 1 || c.Pairs != 2 || c.Spent.Calls != 6 || c.Spent.USD != .5 {
		t.Errorf("%+v", c)
	}
	isAbout(t, "accuracy", c.Accuracy, 3./4)
	isAbout(t, "tau_b", c.TauB, (2/math.Sqrt(3*2)+0)/2)
	isAbout(t, "auc", c.AUC, (5./6+3./6)/2) // 2 successes and 3 failures of both groups
	isAbout(t, "self_tau_b", c.SelfTauB, (1./3+1)/2)
	isAbout(t, "self_std", c.SelfStd, math.Sqrt((.04+.16)/6/2))
	isAbout(t, "ties_fraction", c.Ties, 2./12)
	isAbout(t, "early_bias", c.EarlyBias, .1)            // of .3 and -.1
	isAbout(t, "early_bias_error", c.EarlyBiasError, .2) // sqrt((.04+.04)/1/2)
}

func TestMeasuredHasNoNumberWhereThereIsNone(t *testing.T) {
	c := measured([]checked{{twice: [2][]float64{{.5}, {.5}}, outcomes: []float64{.5}, early: nil}}, true)
	if c.Accuracy != nil || c.TauB != nil || c.AUC != nil || c.SelfTauB != nil || c.Ties != nil || c.EarlyBias != nil || c.EarlyBiasError != nil {
		t.Errorf("%+v", c)
	}
	isAbout(t, "self_std", c.SelfStd, 0)
	// An order that is fixed says nothing of places, and an outcome between 0 and 1 is neither success nor failure.
	c = measured([]checked{{twice: [2][]float64{{.2, .8}, {.2, .8}}, outcomes: []float64{.5, 1}, early: []float64{.5}}}, false)
	if c.AUC != nil || c.EarlyBias != nil {
		t.Errorf("%+v", c)
	}
	isAbout(t, "accuracy", c.Accuracy, 1)
}

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
