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
