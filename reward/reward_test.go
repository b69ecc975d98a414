package reward

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// mixed is a group with everything that can be in one.
func mixed() rl.Group {
	played := func(outcome rl.Score) *rl.Trajectory {
		return &rl.Trajectory{Schema: rl.TrajectorySchema, Stop: rl.Answered, Outcome: outcome}
	}
	return rl.Group{
		Task: rl.Task{ID: "train-1"},
		Trajectories: []*rl.Trajectory{
			played(rl.Score{Value: 1, Metrics: map[string]float64{"turns": 3}}), nil, played(rl.Score{}),
			played(rl.Score{Unscored: "the game was not over"}), nil,
		},
		Failed: []string{"", "failed_environment: connection refused", "", "", ""},
	}
}

// TestConformance holds every registered reward to the contract.
func TestConformance(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			reward, err := New(Parts{Config: rl.RewardConfig{Use: name, Model: "m"}, Ask: fair})
			if err != nil {
				t.Fatal(err)
			}
			g := mixed()
			before := rl.CanonicalJSON(g)
			scores, err := reward(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if len(scores.Scores) != len(g.Trajectories) {
				t.Fatalf("%d scores for %d members", len(scores.Scores), len(g.Trajectories))
			}
			if scores.Scores[1].Unscored != g.Failed[1] || scores.Scores[4].Scored() {
				t.Errorf("members without a trajectory: %+v, %+v", scores.Scores[1], scores.Scores[4])
			}
			rl.CanonicalJSON(scores) // panics where a value is not finite
			if !bytes.Equal(before, rl.CanonicalJSON(g)) {
				t.Error("the reward changed the group")
			}
			again, err := reward(t.Context(), g)
			if err != nil || !reflect.DeepEqual(again, scores) {
				t.Errorf("the second time %+v, not %+v (%v)", again, scores, err)
			}
			if none, err := reward(t.Context(), rl.Group{}); err != nil || len(none.Scores) != 0 {
				t.Errorf("an empty group: %v, %v", none, err)
			}
		})
	}
}

// fair gives all it is asked about one score.
func fair(_ context.Context, q Question) (Reply, error) {
	var entries []string
	for _, id := range q.IDs {
		entries = append(entries, `{"id":"`+id+`","reason":"alike","score":0.5}`)
	}
	return Reply{Text: `{"scores":[` + strings.Join(entries, ",") + `]}`}, nil
}

func TestExactIsTheOutcome(t *testing.T) {
	exact, err := New(Parts{Config: rl.RewardConfig{Use: "exact"}})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := exact(t.Context(), mixed())
	if err != nil {
		t.Fatal(err)
	}
	want := []rl.Score{
		{Value: 1, Metrics: map[string]float64{"turns": 3}},
		{Unscored: "failed_environment: connection refused"},
		{Value: 0},
		{Unscored: "the game was not over"},
		{Unscored: "failed_environment: no trajectory, and no reason was recorded"},
	}
	if !reflect.DeepEqual(scores.Scores, want) {
		t.Errorf("%+v", scores)
	}
}

func TestNewListsTheNames(t *testing.T) {
	_, err := New(Parts{Config: rl.RewardConfig{Use: "exat"}})
	if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), `"exat" is not one of cost, exact`) {
		t.Error(err)
	}
}
