package advantage

import (
	"fmt"
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// earned took one turn per reward.
func earned(value float64, rewards ...float64) Member {
	m := member(value, len(rewards))
	for t, r := range rewards {
		m.Turns[t].Reward = r
	}
	return m
}

// visited took one turn in each state, and earned nothing on the way.
func visited(value float64, states ...string) Member {
	m := member(value, len(states))
	for t, s := range states {
		m.Turns[t].Observation.Messages = []rl.Message{{Role: rl.ToolRole, Content: s, ToolCallID: fmt.Sprint(value, t)}}
	}
	return m
}

func turnsOf(t *testing.T, c rl.AdvantageConfig, group []Member, want [][]float64) {
	t.Helper()
	e := mustNew(t, c)([][]Member{group})[0]
	for i := range group {
		if e.Why != "" || !near(e.Turns[i], want[i], 1e-8) {
			t.Errorf("member %d: %.8f (%s), not %v", i, e.Turns[i], e.Why, want[i])
		}
	}
}

// By hand: returns to go [1 0], [.5 1] and [.5], their mean .6, squares .7 over 5 turns.
func TestReturnsAreDiscounted(t *testing.T) {
	group := []Member{earned(0, 1, 0), earned(1, 0, 0), earned(0, .5), {Score: rl.Score{Value: 9}}}
	c := rl.AdvantageConfig{Use: "returns", Std: "none", Gamma: .5}
	turnsOf(t, c, group, [][]float64{{.4, -.6}, {-.1, .4}, {-.1}, {}})
	c.Std = "population"
	turnsOf(t, c, group, [][]float64{{1.06904497, -1.60356745}, {-.26726124, 1.06904497}, {-.26726124}, {}})
	c.Gamma = 1 // returns [1 0], [1 1], [.5]: mean .7
	c.Std = "none"
	turnsOf(t, c, group, [][]float64{{.3, -.7}, {.3, .3}, {-.2}, {}})
}

// By hand, with gamma .5: scores less their mean are .5, -.5, 0; returns from "room" are .5, 0, .25, and from "door", where two
// of them came by, 1 and .5; nobody else was in "pit".
func TestGiGPOComparesWithinAState(t *testing.T) {
	group := []Member{visited(1, "room", "door"), visited(0, "room", "pit"), visited(.5, "room", "door")}
	c := rl.AdvantageConfig{Use: "gigpo", Std: "none", Gamma: .5, StepWeight: 1}
	turnsOf(t, c, group, [][]float64{{.5 + .25, .5 + .25}, {-.5 - .25, -.5}, {0, -.25}})
	c.StepWeight = 2
	turnsOf(t, c, group, [][]float64{{.5 + .5, .5 + .5}, {-.5 - .5, -.5}, {0, -.5}})
	c.StepWeight, c.Std = 1, "sample" // deviations .5; .25; .35355339
	turnsOf(t, c, group, [][]float64{{1 + 1, 1 + math.Sqrt2/2}, {-1 - 1, -1}, {0, -math.Sqrt2 / 2}})
}

// Two that both succeed differ in how soon: gamma tells. One that comes by a state twice is compared with itself.
func TestGiGPOTellsEqualScoresApart(t *testing.T) {
	c := rl.AdvantageConfig{Use: "gigpo", Std: "none", Gamma: .5, StepWeight: 1}
	turnsOf(t, c, []Member{visited(1, "room"), visited(1, "room", "room")}, [][]float64{{1. / 6}, {-1. / 3, 1. / 6}})
	c.Gamma = 1
	if e := mustNew(t, c)([][]Member{{visited(1, "room"), visited(1, "room", "room")}})[0]; e.Why != rl.ZeroVariance || e.Turns[1][1] != 0 {
		t.Errorf("%+v", e)
	}
}

// By hand: half the advantage is 1/2; of what was contributed before the last turn, a quarter and three quarters.
func TestCWGRPOMovesCreditToTheTurnsItIsOwedTo(t *testing.T) {
	c := rl.AdvantageConfig{Use: "cw_grpo", Std: "none"}
	judged := func(value float64, contributed ...float64) Member {
		m := member(value, 3)
		m.Score.Turns = contributed
		return m
	}
	turnsOf(t, c, []Member{judged(1, 1, 3, 9), judged(0, 1, 3, 9)}, [][]float64{{.25, .75, .5}, {-.5, -.5, -.5}})
	turnsOf(t, c, []Member{judged(1, 0, 1, 0), judged(0)}, [][]float64{{0, 1, .5}, {-.5, -.5, -.5}})
	for _, unread := range [][]float64{nil, {1, 3}, {1, 3, 9, 0}, {0, 0, 1}, {-1, 3, 1}, {math.NaN(), 1, 1}, {math.Inf(1), 1, 1}} {
		turnsOf(t, c, []Member{judged(1, unread...), judged(0)}, [][]float64{{.5, .5, .5}, {-.5, -.5, -.5}})
	}
	one := member(1, 1)
	one.Score.Turns = []float64{.2}
	turnsOf(t, c, []Member{one, judged(0), {Score: rl.Score{Value: 1}}}, [][]float64{{1. / 3}, {-2. / 3, -2. / 3, -2. / 3}, {}})
}
