package reward

import (
	"encoding/json"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Literal values of the paper's own setting, 16,384 tokens and a buffer of 4,096.
func TestOverlong(t *testing.T) {
	for _, c := range []struct {
		length, most, buffer int
		want                 float64
	}{
		{0, 20480, 4096, 0}, {16384, 20480, 4096, 0}, {16385, 20480, 4096, -1. / 4096}, {18432, 20480, 4096, -.5}, {20480, 20480, 4096, -1}, {20481, 20480, 4096, -1}, {1 << 30, 20480, 4096, -1},
		{100, 100, 0, 0}, {101, 100, 0, -1}, {5, 0, 0, 0}, {1, 2, 2, -.5},
	} {
		if got := overlong(c.length, c.most, c.buffer); got != c.want {
			t.Errorf("%d tokens, max %d, buffer %d: %v, want %v", c.length, c.most, c.buffer, got, c.want)
		}
	}
	g := groupOf(said("a"), said("b"))
	g.Trajectories[1].Turns[0].Action.Tokens = make([]int32, 18432)
	if s := scoresOf(t, rl.RewardConfig{Use: "overlong", OverlongMax: 20480, OverlongBuffer: 4096}, g, nil); values(s) != "0 -0.5" {
		t.Errorf("%s", values(s))
	}
}

func TestCost(t *testing.T) {
	g := groupOf(said("a", "b"), said("c"))
	g.Trajectories[0].Turns[0].Action.Tokens, g.Trajectories[0].Turns[1].Action.Tokens = make([]int32, 1000), make([]int32, 250)
	if s := scoresOf(t, rl.RewardConfig{Use: "cost"}, g, nil); values(s) != "-1.25 0" {
		t.Errorf("%s", values(s))
	}
}

func TestTurnsAreSummed(t *testing.T) {
	g := groupOf(said("a", "b", "c"), said("d"))
	g.Trajectories[0].Turns[0].Reward, g.Trajectories[0].Turns[2].Reward = .5, -.125
	if s := scoresOf(t, rl.RewardConfig{Use: "turns"}, g, nil); values(s) != "0.375 0" {
		t.Errorf("%s", values(s))
	}
}

func TestFormat(t *testing.T) {
	calls := func(calls ...rl.ToolCall) *rl.Trajectory {
		x := said("", "fine", "", "fine")
		x.Turns[0].Action.Message.ToolCalls = calls
		return x
	}
	good, bad := rl.ToolCall{Name: "find", Arguments: json.RawMessage(`{}`)}, rl.ToolCall{Name: "find", Invalid: "no JSON"}
	g := groupOf(calls(good), calls(good, bad), said("a"), said(""), said())
	if s := scoresOf(t, rl.RewardConfig{Use: "format"}, g, nil); values(s) != "0.75 0.5 1 0 0" {
		t.Errorf("%s", values(s))
	}
}
