package advantage

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// claim is what an estimator's formula promises.
type claim struct {
	centred func(groups [][]Member, estimates []Estimate) []float64 // sums of advantages that are 0
	shifts  bool                                                    // a constant added to every score changes nothing
	ordered bool                                                    // in a group, a better score never has the smaller advantage
	scales  func(std string) (power float64, ok bool)               // by what power of k scores of k times the size count, at epsilon 0
}

var claims = map[string]claim{
	"grpo":                  {overMembers, true, true, byDivisor},
	"dr_grpo":               {overMembers, true, true, always(1)},
	"rloo":                  {overMembers, true, true, always(1)},
	"max_rl":                {overMembers, false, true, always(0)},
	"reinforce_pp":          {overTokens, true, true, byDivisor},
	"reinforce_pp_baseline": {overTokens, true, true, byDivisor},
	"gdpo":                  {overUpdate, true, false, byDivisor},
	"returns":               {overTurns, false, false, byDivisor},
	"gigpo":                 {nowhere, false, false, byDivisor}, // its two halves are centred over members and over turns
	"cw_grpo":               {overMembers, true, false, byDivisor},
	"art":                   {overMembers, true, true, never},
	"trl":                   {overMembers, true, true, never},
	"verl":                  {overMembers, true, true, never},
	"skyrl":                 {overMembers, true, true, never},
	"prime_rl":              {overMembers, true, true, always(1)},
}

// each adds up what a function makes of the advantages of a member.
func each(groups [][]Member, estimates []Estimate, of func(m Member, turns []float64) float64) (sums []float64) {
	for i, g := range groups {
		sum := 0.0
		for j, m := range g {
			if estimates[i].Why == "" && len(m.Turns) > 0 {
				sum += of(m, estimates[i].Turns[j])
			}
		}
		sums = append(sums, sum)
	}
	return sums
}

func overTurns(groups [][]Member, estimates []Estimate) []float64 {
	return each(groups, estimates, func(_ Member, turns []float64) float64 { return total(turns) })
}

// overMembers takes the mean over its turns for a member's advantage.
func overMembers(groups [][]Member, estimates []Estimate) []float64 {
	return each(groups, estimates, func(_ Member, turns []float64) float64 { return total(turns) / float64(len(turns)) })
}

func overUpdate(groups [][]Member, estimates []Estimate) []float64 {
	return []float64{total(overMembers(groups, estimates))}
}

func overTokens(groups [][]Member, estimates []Estimate) []float64 {
	return []float64{total(each(groups, estimates, func(m Member, turns []float64) float64 { return turns[0] * sampledTokens(m) }))}
}

func nowhere([][]Member, []Estimate) []float64 { return nil }

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func byDivisor(std string) (float64, bool) {
	if std == "none" {
		return 1, true
	}
	return 0, true
}

func always(power float64) func(string) (float64, bool) {
	return func(string) (float64, bool) { return power, true }
}

func never(string) (float64, bool) { return 0, false }

// someGroups draws an update: scores, components and rewards on a grid on which nothing is nearly alike.
func someGroups(t *rapid.T) [][]Member {
	grid := rapid.SampledFrom([]float64{0, 0, .25, .5, 1})
	groups := make([][]Member, rapid.IntRange(1, 4).Draw(t, "groups"))
	for i := range groups {
		for range rapid.IntRange(1, 5).Draw(t, "members") {
			m := Member{Score: rl.Score{Value: grid.Draw(t, "score")}}
			if rapid.Bool().Draw(t, "composed") {
				m.Components = []Component{{"a", grid.Draw(t, "a"), 1}, {"b", grid.Draw(t, "b"), .5}}
			}
			for range rapid.IntRange(1, 4).Draw(t, "turns") {
				turn := rl.Turn{Reward: grid.Draw(t, "reward")}
				turn.Observation.Messages = []rl.Message{{Role: rl.User, Content: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "seen")}}
				turn.Action.Tokens = make([]int32, rapid.IntRange(1, 3).Draw(t, "tokens"))
				m.Turns = append(m.Turns, turn)
				m.Score.Turns = append(m.Score.Turns, grid.Draw(t, "contributed"))
			}
			groups[i] = append(groups[i], m)
		}
	}
	return groups
}

// changed is the groups with each score and component v as by+times*v, and rewards times as large.
func changed(groups [][]Member, by, times float64) [][]Member {
	out := make([][]Member, len(groups))
	for i, g := range groups {
		for _, m := range g {
			m.Score.Value = by + times*m.Score.Value
			m.Components, m.Turns = slices.Clone(m.Components), slices.Clone(m.Turns)
			for k := range m.Components {
				m.Components[k].Value = by + times*m.Components[k].Value
			}
			for k := range m.Turns {
				m.Turns[k].Reward *= times
			}
			out[i] = append(out[i], m)
		}
	}
	return out
}

// everyEstimator runs a check for each registered name with each divisor.
func everyEstimator(t *testing.T, check func(t *rapid.T, c claim, std string, e Estimator, groups [][]Member)) {
	for _, name := range Names() {
		c, ok := claims[name]
		if !ok {
			t.Errorf("it is not said what %s promises", name)
			continue
		}
		for _, std := range []string{"population", "sample", "none"} {
			e := mustNew(t, rl.AdvantageConfig{Use: name, Std: std, Gamma: .75, StepWeight: .5})
			t.Run(name+"/"+std, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) { check(t, c, std, e, someGroups(t)) })
			})
		}
	}
}

func TestAdvantagesAreWhatTheirEstimatorClaims(t *testing.T) {
	everyEstimator(t, func(t *rapid.T, c claim, std string, e Estimator, groups [][]Member) {
		got := e(groups)
		if len(got) != len(groups) {
			t.Fatalf("%d estimates for %d groups", len(got), len(groups))
		}
		for i, g := range groups {
			if len(got[i].Turns) != len(g) {
				t.Fatalf("%d members, advantages of %d", len(g), len(got[i].Turns))
			}
			for j, m := range g {
				if len(got[i].Turns[j]) != len(m.Turns) || slices.ContainsFunc(got[i].Turns[j], func(a float64) bool { return math.IsNaN(a) || math.IsInf(a, 0) }) {
					t.Fatalf("member %d of %d turns: %v", j, len(m.Turns), got[i].Turns[j])
				}
				for k := range g {
					if c.ordered && m.Score.Value > g[k].Score.Value && got[i].Turns[j][0] < got[i].Turns[k][0] {
						t.Fatalf("a better score has the smaller advantage: %v", got[i].Turns)
					}
				}
			}
		}
		for _, sum := range c.centred(groups, got) {
			if math.Abs(sum) > 1e-9 {
				t.Fatalf("the advantages sum to %g", sum)
			}
		}
		if c.shifts {
			equal(t, "3 more", e(changed(groups, 3, 1)), got, 1)
		}
		if power, ok := c.scales(std); ok {
			equal(t, "4 times as much", e(changed(groups, 0, 4)), got, math.Pow(4, power))
		}
	})
}

// Who stands where makes no difference.
func TestAdvantagesFollowTheirMembers(t *testing.T) {
	everyEstimator(t, func(t *rapid.T, _ claim, _ string, e Estimator, groups [][]Member) {
		want := e(groups)
		order := rapid.Permutation(indices(len(groups))).Draw(t, "groups")
		groups, want = at(groups, order), at(want, order)
		for i := range groups {
			order := rapid.Permutation(indices(len(groups[i]))).Draw(t, "members")
			groups[i], want[i].Turns = at(groups[i], order), at(want[i].Turns, order)
		}
		equal(t, "in another order", e(groups), want, 1)
	})
}

func equal(t *rapid.T, what string, got, want []Estimate, times float64) {
	t.Helper()
	for i, w := range want {
		if got[i].Why != w.Why {
			t.Fatalf("%s: group %d is %q, not %q", what, i, got[i].Why, w.Why)
		}
		for j, turns := range w.Turns {
			for k, a := range turns {
				if a *= times; math.Abs(got[i].Turns[j][k]-a) > 1e-9*max(1, math.Abs(a)) && w.Why == "" {
					t.Fatalf("%s: member %d of group %d at turn %d: %g, not %g", what, j, i, k, got[i].Turns[j][k], a)
				}
			}
		}
	}
}

func indices(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func at[T any](values []T, order []int) (out []T) {
	for _, i := range order {
		out = append(out, values[i])
	}
	return out
}
