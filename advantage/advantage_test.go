package advantage

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// member scores value and took turns of one sampled token each.
func member(value float64, turns int) Member {
	m := Member{Score: rl.Score{Value: value}, Turns: make([]rl.Turn, turns)}
	for t := range m.Turns {
		m.Turns[t].Action.Tokens = []int32{1}
	}
	return m
}

func mustNew(t interface{ Fatal(...any) }, c rl.AdvantageConfig) Estimator {
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ofScores is the advantages of one group of members with one turn each.
func ofScores(t interface{ Fatal(...any) }, c rl.AdvantageConfig, scores ...float64) ([]float64, rl.LeftOut) {
	group := make([]Member, len(scores))
	for i, s := range scores {
		group[i] = member(s, 1)
	}
	e := mustNew(t, c)([][]Member{group})[0]
	return slices.Concat(e.Turns...), e.Why
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
		{"skyrl", "", 0, []float64{1, 0, 0, 0}, []float64{1.499997, -.499999, -.499999, -.499999}},
		{"prime_rl", "", 0, []float64{1, 0, 0, 0}, []float64{.75, -.25, -.25, -.25}},
		{"trl", "", 0, []float64{1, 0, .5, .25}, []float64{1.31715658, -1.02445512, .14635073, -.43905219}},
		{"max_rl", "", 0, []float64{1, 0, 0, 0}, []float64{3, -1, -1, -1}}, // as SkyRL 0.3.0's maxrl with epsilon 0
		{"max_rl", "", 0, []float64{1, 1, 0, .5}, []float64{.6, .6, -1, -.2}},
		{"cw_grpo", "sample", 1e-4, []float64{1, 0, 0, 0}, []float64{1.4997, -.4999, -.4999, -.4999}},
		{"returns", "sample", 1e-4, []float64{1, 0, 0, 0}, []float64{1.4997, -.4999, -.4999, -.4999}},
	} {
		got, why := ofScores(t, rl.AdvantageConfig{Use: c.use, Std: c.std, Epsilon: c.epsilon}, c.scores...)
		if why != "" || !near(got, c.want, 7e-8) {
			t.Errorf("%s %s %g of %v is %.8f (%s), not %v", c.use, c.std, c.epsilon, c.scores, got, why, c.want)
		}
	}
}

func TestGroupsWithoutInformation(t *testing.T) {
	for _, name := range Names() {
		for _, std := range []string{"population", "sample", "none"} {
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
			} {
				got, why := ofScores(t, rl.AdvantageConfig{Use: name, Std: std, Gamma: 1, StepWeight: 1}, c.scores...)
				if why != c.why || len(got) != len(c.scores) {
					t.Errorf("%s/%s: %v is %q with %v, not %q", name, std, c.scores, why, got, c.why)
				}
				zero := !slices.ContainsFunc(got, func(a float64) bool { return a != 0 })
				if lone := why == rl.Singleton && settled(rl.AdvantageConfig{Use: name}).Singleton == keep; zero != (c.why != "" && !lone) {
					t.Errorf("%s/%s: %v gives %v", name, std, c.scores, got)
				}
			}
		}
	}
}

func TestLoneMembersMayBeKept(t *testing.T) {
	for _, c := range []struct {
		config rl.AdvantageConfig
		want   float64
	}{
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Singleton: "drop"}, 0},
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Singleton: "keep"}, .7},
		{rl.AdvantageConfig{Use: "rloo", Singleton: "keep"}, .7},
		{rl.AdvantageConfig{Use: "art"}, 0}, {rl.AdvantageConfig{Use: "trl"}, 0}, {rl.AdvantageConfig{Use: "prime_rl"}, 0},
		{rl.AdvantageConfig{Use: "verl"}, .6999993}, {rl.AdvantageConfig{Use: "skyrl"}, .6999993}, // both computed by running them
	} {
		if got, why := ofScores(t, c.config, .7); why != rl.Singleton || !near(got, []float64{c.want}, 1e-6) {
			t.Errorf("%+v gives %v (%s), not %g", c.config, got, why, c.want)
		}
	}
}

func TestNewNamesTheRightValues(t *testing.T) {
	for _, c := range []struct {
		config rl.AdvantageConfig
		want   string
	}{
		{rl.AdvantageConfig{Use: "gppo"}, `advantage.use: "gppo" is not one of art, cw_grpo, dr_grpo, gdpo, gigpo, grpo, max_rl, prime_rl, reinforce_pp, reinforce_pp_baseline, returns, rloo, skyrl, trl, verl`},
		{rl.AdvantageConfig{Use: "grpo", Std: "biased"}, `advantage.std: "biased" is not one of population, sample, none`},
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Epsilon: -1}, "advantage.epsilon: -1 is not a finite number of 0 or more"},
		{rl.AdvantageConfig{Use: "grpo", Std: "sample", Epsilon: math.NaN()}, "advantage.epsilon: NaN is not"},
		{rl.AdvantageConfig{Use: "gdpo"}, `advantage.std: "" is not one of population, sample, none`},
		{rl.AdvantageConfig{Use: "rloo", Singleton: "keeps"}, `advantage.singleton: "keeps" is not one of drop, keep`},
		{rl.AdvantageConfig{Use: "rloo", ZeroVariance: "left"}, `advantage.zero_variance: "left" is not one of drop, keep`},
		{rl.AdvantageConfig{Use: "rloo", Gamma: 1.5}, "advantage.gamma: 1.5 is not a number from 0 to 1"},
		{rl.AdvantageConfig{Use: "rloo", StepWeight: math.Inf(1)}, "advantage.step_weight: +Inf is not a finite number of 0 or more"},
	} {
		_, err := New(c.config)
		if rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}

func TestNobodyIsASingleton(t *testing.T) {
	for _, name := range Names() {
		if e := mustNew(t, rl.AdvantageConfig{Use: name, Std: "sample"})([][]Member{nil}); len(e) != 1 || e[0].Why != rl.Singleton || len(e[0].Turns) != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
