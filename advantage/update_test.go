package advantage

import (
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// acted took one turn of so many sampled tokens.
func acted(value float64, tokens int) Member {
	return Member{Score: rl.Score{Value: value}, Turns: []rl.Turn{{Action: rl.Action{Tokens: make([]int32, tokens)}}}}
}

// The values are those of verl 0.9.1's compute_reinforce_plus_plus_outcome_advantage and its baseline, in float64.
func TestReinforcePPNormalisesOverTheTokensOfTheUpdate(t *testing.T) {
	groups := func() [][]Member {
		return [][]Member{{acted(1, 1), acted(0, 2)}, {acted(.5, 3), acted(1, 2)}}
	}
	for use, want := range map[string][]float64{
		"reinforce_pp":          {1.048503179, -1.348075512, -.149786166, 1.048503179},
		"reinforce_pp_baseline": {1.577087363, -1.079059775, -.415022991, .913050579},
	} {
		got := mustNew(t, rl.AdvantageConfig{Use: use, Std: "sample"})(groups())
		var flat []float64
		for _, e := range got {
			for _, turns := range e.Turns {
				flat = append(flat, turns...)
			}
		}
		if !near(flat, want, 1e-7) {
			t.Errorf("%s: %.9f, not %v", use, flat, want)
		}
	}
}

func TestAGlobalBaselineKnowsGroupsThatTheirOwnCannotTell(t *testing.T) {
	groups := [][]Member{{acted(1, 1), acted(1, 1)}, {acted(0, 1)}, {}}
	c := rl.AdvantageConfig{Use: "reinforce_pp", Std: "none"}
	got := mustNew(t, c)(groups)
	if got[0].Why != "" || got[1].Why != "" || !near(got[0].Turns[1], []float64{1. / 3}, 1e-12) || !near(got[1].Turns[0], []float64{-2. / 3}, 1e-12) {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		groups [][]Member
		why    rl.LeftOut
	}{
		{[][]Member{{acted(.5, 1)}, {acted(.5, 4)}}, rl.ZeroVariance},
		{[][]Member{{acted(.5, 1)}, {}}, rl.Singleton},
	} {
		for _, e := range mustNew(t, rl.AdvantageConfig{Use: "reinforce_pp", Std: "sample"})(c.groups) {
			if e.Why != c.why || len(e.Turns) > 0 && e.Turns[0][0] != 0 {
				t.Errorf("%+v, want %s", e, c.why)
			}
		}
	}
}

// Groups without information are in the batch's deviation only where they are kept: {1,0} alone is +-1, and beside a group
// of zeros, over four members, its deviation is sqrt(1/8).
func TestTheBatchIsWhatIsTrainedOn(t *testing.T) {
	for rule, want := range map[string]float64{"drop": 1, "keep": math.Sqrt2} {
		for _, use := range []string{"reinforce_pp_baseline", "gdpo"} {
			c := rl.AdvantageConfig{Use: use, Std: "population", ZeroVariance: rule}
			got := mustNew(t, c)([][]Member{{acted(1, 1), acted(0, 1)}, {acted(1, 1), acted(1, 1)}})
			if !near(got[0].Turns[0], []float64{want}, 1e-9) || got[1].Why != rl.ZeroVariance || got[1].Turns[0][0] != 0 {
				t.Errorf("%s, %s: %+v, want %g", use, rule, got, want)
			}
		}
	}
}

// composed has components a and b with the weights 1 and .5.
func composed(a, b float64) Member {
	m := acted(a+b/2, 1)
	m.Components = []Component{{"a", a, 1}, {"b", b, .5}}
	return m
}

// The values are those of TRL 1.16.0's formula for normalise_then_sum, in float64.
func TestGDPONormalisesEachComponent(t *testing.T) {
	groups := [][]Member{
		{composed(1, 0), composed(0, 1), composed(1, 1), composed(0, 0)},
		{composed(1, .5), composed(0, .5), composed(0, .5), composed(1, .5)},
	}
	want := [][]float64{{.440913644, -.440913644, 1.322740931, -1.322740931}, {.881827287, -.881827287, -.881827287, .881827287}}
	for i, e := range mustNew(t, rl.AdvantageConfig{Use: "gdpo", Std: "sample", Epsilon: 1e-4})(groups) {
		for j, turns := range e.Turns {
			if e.Why != "" || !near(turns, []float64{want[i][j]}, 1e-9) {
				t.Errorf("member %d of group %d: %.9f (%s), not %v", j, i, turns, e.Why, want[i][j])
			}
		}
	}
}

// Scores that agree may be made of different components; a component that a member lacks says nothing about it.
func TestGDPOSeesWhatTheSumHides(t *testing.T) {
	with := func(parts ...Component) Member {
		m := acted(1, 1)
		m.Components = parts
		return m
	}
	c := rl.AdvantageConfig{Use: "gdpo", Std: "none"}
	got := mustNew(t, c)([][]Member{{with(Component{"a", 1, 1}), with(Component{"a", 0, 1}, Component{"b", 1, 1}), with(Component{"b", 0, 1})}})[0]
	for i, want := range []float64{.5, 0, -.5} {
		if got.Why != "" || !near(got.Turns[i], []float64{want}, 1e-12) {
			t.Errorf("member %d: %v (%s), not %g", i, got.Turns[i], got.Why, want)
		}
	}
	// Here the parts take each other away, in every group: the update holds nothing.
	against := [][]Member{{with(Component{"a", 1, 1}, Component{"b", 0, 1}), with(Component{"a", 0, 1}, Component{"b", 1, 1})}}
	if e := mustNew(t, c)(against)[0]; e.Why != rl.ZeroVariance || e.Turns[0][0] != 0 {
		t.Errorf("%+v", e)
	}
}

func TestComponentsAreReadFromTheMetrics(t *testing.T) {
	reward := rl.RewardConfig{Use: "exact", Add: rl.RewardWeights{Cost: .5, Format: .25}}
	score := rl.Score{Value: .9, Metrics: map[string]float64{"reward_exact": 1, "reward_cost": -.2, "reward_format": math.NaN(), "turns": 4, "reward_other": 7}}
	got := components(score, reward)
	if len(got) != 2 || got[0] != (Component{"exact", 1, 1}) || got[1] != (Component{"cost", -.2, .5}) {
		t.Errorf("%+v", got)
	}
	if got := components(rl.Score{Value: 1}, reward); got != nil {
		t.Errorf("one reward has the components %+v", got)
	}
}
