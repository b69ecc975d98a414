package rl

import (
	"fmt"
	"slices"
	"testing"
)

func evaluation(success float64) Evaluation {
	return Evaluation{Greedy: Rate{Mean: success}, Sampled: Rate{Mean: success}}
}

// Two collapses go back to the best at half and a quarter of the learning rate; a third goes on; the last update is
// never gone back from; a better version becomes the best.
func TestGuard(t *testing.T) {
	rules := GuardRules{Promote: "success >= best - 0.01", Collapse: .5, Retries: 2, Updates: 6}
	g := Guard{Scale: 1}
	var got []string
	for n, success := range []float64{.4, .8, .1, .1, .1, .85, .1} {
		next, v, err := g.After(UpdateNumber(n), Ref{Key: fmt.Sprint(n)}, evaluation(success), rules)
		if err != nil {
			t.Fatal(err)
		}
		g = next
		got = append(got, fmt.Sprintf("promoted=%v back=%v told=%v best=%s scale=%g", v.Promoted, v.Back, v.Event != "", g.Best.Manifest.Key, g.Scale))
	}
	want := []string{
		"promoted=true back=false told=false best=0 scale=1",
		"promoted=true back=false told=false best=1 scale=1",
		"promoted=false back=true told=true best=1 scale=0.5",
		"promoted=false back=true told=true best=1 scale=0.25",
		"promoted=false back=false told=true best=1 scale=0.25",
		"promoted=true back=false told=false best=5 scale=0.25",
		"promoted=false back=false told=false best=5 scale=0.25",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%q\nwant\n%q", got, want)
	}
}

func TestDue(t *testing.T) {
	var got []UpdateNumber
	for n := range UpdateNumber(8) {
		if (EvalConfig{Every: 3}).Due(n, 7) {
			got = append(got, n)
		}
	}
	if want := []UpdateNumber{0, 3, 6, 7}; !slices.Equal(got, want) {
		t.Fatalf("due %v, want %v", got, want)
	}
	if (EvalConfig{}).Due(0, 7) {
		t.Fatal("due although evaluations are off")
	}
}
