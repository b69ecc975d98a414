package reward

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// outcomes is a group of attempts that the environment gave these scores.
func outcomes(values ...float64) rl.Group {
	g := eight()
	g.Trajectories, g.Failed = g.Trajectories[:len(values)], g.Failed[:len(values)]
	for i, v := range values {
		g.Trajectories[i].Outcome = rl.Score{Value: v, Reason: fmt.Sprintf("outcome %v", v)}
	}
	return g
}

func TestWeightedSum(t *testing.T) {
	g := outcomes(1, 0, 1)
	for i, n := range []int{500, 1500, 0} {
		g.Trajectories[i].Turns[0].Action.Tokens = make([]int32, n)
	}
	g.Trajectories[2], g.Failed[2] = nil, "failed_environment: 503"
	s := scoresOf(t, rl.RewardConfig{Use: "exact", Add: rl.RewardWeights{Cost: .5, Format: .25}}, g, nil)
	// 1 + .5 x -.5 + .25 x 1 and 0 + .5 x -1.5 + .25 x 1
	if values(s) != "1 -0.5 -" || s.Scores[0].Reason != "outcome 1" || s.Scores[2].Unscored != "failed_environment: 503" {
		t.Errorf("%+v", s)
	}
	if got, want := fmt.Sprint(s.Scores[1].Metrics), "map[reward_cost:-1.5 reward_exact:0 reward_format:1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A member that passes the gate scores (1 + judge)/2, one that does not 0; the judge sees those alone that pass.
func TestGate(t *testing.T) {
	var asked []Question
	gate := judged(func(c *rl.RewardConfig) { c.Gate = "exact" })
	s := scoresOf(t, gate, outcomes(1, .5, 1, 0), recorded(judgeBy(letter), &asked))
	if values(s) != "0.5 0 0.625 0" || len(shownIn(asked[0])) != 2 || s.Scores[1].Reason != "it does not pass the gate: 0.5 (outcome 0.5)" || s.Spent.Calls != 2 ||
		s.Scores[1].Metrics["reward_exact"] != .5 || s.Scores[2].Metrics["reward_exact"] != 1 || s.Scores[2].Metrics["judge_pass_1"] != .25 {
		t.Errorf("%+v, %d shown", s, len(shownIn(asked[0])))
	}
	never := func(context.Context, Question) (Reply, error) { panic("asked") }
	if s := scoresOf(t, gate, outcomes(0, 1), never); values(s) != "0 1" || s.Scores[1].Reason != "there is no other attempt to compare it with" {
		t.Errorf("%+v", s)
	}
	if s := scoresOf(t, gate, outcomes(0, 0), never); values(s) != "0 0" {
		t.Errorf("%+v", s)
	}
	same := outcomes(1, 1, 0)
	same.Trajectories[1] = same.Trajectories[0]
	if s := scoresOf(t, gate, same, never); values(s) != "1 1 0" {
		t.Errorf("%+v", s)
	}
	g := outcomes(1, 1, 0)
	g.Trajectories[2].Outcome = rl.Score{Unscored: "the world ended"}
	if s := scoresOf(t, gate, g, judgeBy(letter)); values(s) != "0.5 0.5625 -" || s.Scores[2].Unscored != "the world ended" {
		t.Errorf("%+v", s)
	}
}

// A reward that does not compare counts for a member that passes alone as for any other.
func TestGateBeforeARewardOfItsOwn(t *testing.T) {
	g := outcomes(.5, .25)
	g.Trajectories[1].Turns[0].Action.Message = rl.Message{} // says nothing, calls nothing
	if s := scoresOf(t, rl.RewardConfig{Use: "exact", Gate: "format"}, g, nil); values(s) != "0.75 0" {
		t.Errorf("%+v", s)
	}
}

// A judge that finds no difference leaves those that pass alike; what the gate tells apart counts.
func TestGateBeforeAFlatJudge(t *testing.T) {
	gate := judged(func(c *rl.RewardConfig) { c.Gate = "exact" })
	changing := func() Ask { return byPass([]float64{0, 1, 0}, []float64{1, 0, 0}) }
	if s := scoresOf(t, gate, outcomes(1, 1, 0), changing()); values(s) != "1 1 0" || s.Flat != "" || !strings.HasPrefix(s.Notes[0], "the attempts differ by") {
		t.Errorf("%+v", s)
	}
	if s := scoresOf(t, gate, outcomes(1, 1), changing()); values(s) != "1 1" || s.Flat == "" {
		t.Errorf("%+v", s)
	}
}

// A judge is added to the environment's score: where the judge finds no difference, the environment's is what is left.
func TestSumWithAFlatJudge(t *testing.T) {
	both := judged(func(c *rl.RewardConfig) { c.Use, c.Add.Judge = "exact", .5 })
	changing := func() Ask { return byPass([]float64{0, 1}, []float64{1, 0}) }
	if s := scoresOf(t, both, outcomes(1, 0), changing()); values(s) != "1.25 0.25" || s.Flat != "" || len(s.Notes) != 1 || s.Scores[0].Metrics["reward_judge"] != .5 {
		t.Errorf("%+v", s)
	}
	if s := scoresOf(t, both, outcomes(1, 1), changing()); values(s) != "1.25 1.25" || s.Flat == "" {
		t.Errorf("%+v", s)
	}
	bad := func(context.Context, Question) (Reply, error) { return Reply{Text: "no"}, nil }
	if s := scoresOf(t, both, outcomes(1, 0), bad); values(s) != "- -" {
		t.Errorf("%+v", s)
	}
}

func TestNewRefusesUnknownParts(t *testing.T) {
	for _, c := range []rl.RewardConfig{{Use: "exact", Gate: "luck"}, {Use: "luck"}} {
		if _, err := New(Parts{Config: c}); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), `"luck" is not one of cost, exact, format, judge, overlong, turns`) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
