package advantage

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

func estimator(t interface{ Fatal(...any) }, use, std string, epsilon float64) Estimator {
	e, err := New(rl.AdvantageConfig{Use: use, Std: std, Epsilon: epsilon})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func near(got, want []float64, tolerance float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= tolerance })
}

func TestLiteralValues(t *testing.T) {
	for _, c := range []struct {
		use, std string
		epsilon  float64
		scores   []float64
		want     []float64
	}{
		{"grpo", "population", 1e-6, []float64{0, .25, 1}, []float64{-.98057837, -.39223135, 1.37280972}},
		{"grpo", "population", 1e-6, []float64{1, 0, 0, 0}, []float64{1.73204681, -.57734894, -.57734894, -.57734894}},
		{"grpo", "sample", 1e-6, []float64{1, 0, 0, 0}, []float64{1.499997, -.499999, -.499999, -.499999}},
		{"grpo", "sample", 1e-4, []float64{1, 0, 0, 0}, []float64{1.4997, -.4999, -.4999, -.4999}},
		{"grpo", "sample", 1e-4, []float64{1, 0, .5, .25}, []float64{1.31715658, -1.02445512, .14635073, -.43905219}},
		{"grpo", "none", 0, []float64{6, 3}, []float64{1.5, -1.5}},
		{"dr_grpo", "", 0, []float64{6, 3}, []float64{1.5, -1.5}},
		{"dr_grpo", "", 0, []float64{9, 12}, []float64{-1.5, 1.5}},
		{"rloo", "", 0, []float64{6, 3}, []float64{3, -3}},
		{"rloo", "", 0, []float64{1, 0, 0, 0}, []float64{1, -1. / 3, -1. / 3, -1. / 3}},
		{"art", "", 0, []float64{1, 0, 0, 0}, []float64{1.73204681, -.57734894, -.57734894, -.57734894}},
		{"trl", "", 0, []float64{1, 0, 0, 0}, []float64{1.4997, -.4999, -.4999, -.4999}},
		{"verl", "", 0, []float64{1, 0, 0, 0}, []float64{1.499997, -.499999, -.499999, -.499999}},
	} {
		got, why := estimator(t, c.use, c.std, c.epsilon)(c.scores)
		if why != "" || !near(got, c.want, 7e-8) {
			t.Errorf("%s %s %g of %v is %.8f (%s), not %v", c.use, c.std, c.epsilon, c.scores, got, why, c.want)
		}
	}
}

// everyEstimator runs a check for each registered name with each divisor.
func everyEstimator(t *testing.T, check func(t *testing.T, e Estimator)) {
	for _, name := range Names() {
		for _, std := range []string{"population", "sample", "none"} {
			for _, epsilon := range []float64{0, 1e-6, 1e-4} {
				t.Run(name+"/"+std, func(t *testing.T) { check(t, estimator(t, name, std, epsilon)) })
			}
		}
	}
}

func TestGroupsWithoutInformation(t *testing.T) {
	everyEstimator(t, func(t *testing.T, e Estimator) {
		for _, c := range []struct {
			scores []float64
			why    rl.LeftOut
		}{
			{[]float64{.1, .1, .1}, rl.ZeroVariance},
			{[]float64{1, 1, 1}, rl.ZeroVariance},
			{[]float64{.1, .1 + 5e-13, .1 - 5e-13}, rl.ZeroVariance},
			{[]float64{1e9, 1e9 + .5}, rl.ZeroVariance}, // relative to the magnitude
			{[]float64{0, 2e-9}, ""},
			{[]float64{1e9, 1e9 + 2}, ""},
			{[]float64{.7}, rl.Singleton},
			{nil, rl.Singleton},
		} {
			got, why := e(c.scores)
			if why != c.why || len(got) != len(c.scores) {
				t.Errorf("%v is %q with %v, not %q", c.scores, why, got, c.why)
			}
			if zero := !slices.ContainsFunc(got, func(a float64) bool { return a != 0 }); zero != (c.why != "") {
				t.Errorf("%v gives %v", c.scores, got)
			}
		}
	})
}

func TestInvariants(t *testing.T) {
	everyEstimator(t, func(t *testing.T, e Estimator) {
		rapid.Check(t, func(t *rapid.T) {
			scores := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, .5, 1})), 2, 12).Draw(t, "scores")
			got, why := e(scores)
			if why != "" {
				return
			}
			sum, scale := 0.0, 1.0
			for i, a := range got {
				sum, scale = sum+a, max(scale, math.Abs(a))
				for j, b := range got {
					if scores[i] > scores[j] && a < b {
						t.Fatalf("%v: a better score has the smaller advantage: %v", scores, got)
					}
				}
			}
			if math.Abs(sum) > 1e-9*scale*float64(len(got)) {
				t.Fatalf("%v: the advantages sum to %g", scores, sum)
			}
			order := rapid.Permutation(indices(len(scores))).Draw(t, "order")
			moved, why := e(at(scores, order))
			if why != "" || !near(moved, at(got, order), 1e-6*scale) {
				t.Fatalf("%v in the order %v gives %v (%s), not %v", scores, order, moved, why, at(got, order))
			}
		})
	})
}

func indices(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func at(values []float64, order []int) (out []float64) {
	for _, i := range order {
		out = append(out, values[i])
	}
	return out
}

func TestNewNamesTheRightValues(t *testing.T) {
	for _, c := range []struct {
		config rl.AdvantageConfig
		want   string
	}{
		{rl.AdvantageConfig{Use: "gppo"}, `advantage.use: "gppo" is not one of art, dr_grpo, grpo, rloo, trl, verl`},
		{rl.AdvantageConfig{Use: "grpo", Std: "biased"}, `advantage.std: "biased" is not one of population, sample, none`},
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Epsilon: -1}, "advantage.epsilon: -1 is not a finite number of 0 or more"},
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Epsilon: math.NaN()}, "advantage.epsilon: NaN is not"},
	} {
		_, err := New(c.config)
		if rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
