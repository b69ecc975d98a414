package reward

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestTauB(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y []float64
		tau  float64
		ok   bool
	}{
		{"the same", []float64{1, 2, 3, 4}, []float64{.1, .2, .3, .9}, 1, true},
		{"reversed", []float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1, true},
		{"one pair swapped", []float64{1, 2, 3, 4}, []float64{1, 2, 4, 3}, 4. / 6, true},
		// Ties in x alone: C 5, D 0, n0 6, n1 1, n2 0.
		{"a tie on one side", []float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 5 / math.Sqrt(5*6), true},
		// C 4, D 0: the pairs tied under both are in neither.
		{"ties on both sides", []float64{0, 0, 1, 1}, []float64{0, 0, 1, 1}, 1, true},
		// C 1, D 2 of 6 pairs; n1 2, n2 1.
		{"ties and inversions", []float64{1, 1, 2, 2}, []float64{1, 2, 2, 0}, -1 / math.Sqrt(4*5), true},
		// scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]), its documentation's example.
		{"of scipy", []float64{12, 2, 1, 12, 2}, []float64{1, 4, 7, 1, 0}, -0.47140452079103173, true},
		{"all alike", []float64{1, 1, 1}, []float64{1, 2, 3}, 0, false},
		{"all alike under the other", []float64{1, 2, 3}, []float64{.5, .5, .5}, 0, false},
		{"one", []float64{1}, []float64{1}, 0, false},
		{"none", nil, nil, 0, false},
	} {
		if tau, ok := TauB(c.x, c.y); !near(tau, c.tau) || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", c.name, tau, ok, c.tau, c.ok)
		}
	}
}

func TestOrderedAndTies(t *testing.T) {
	for _, c := range []struct {
		name             string
		scores, outcomes []float64
		right            float64
		pairs, ties      int
	}{
		{"right", []float64{.9, .1, .8, .2}, []float64{1, 0, 1, 0}, 4, 4, 0},
		{"wrong", []float64{.1, .9}, []float64{1, 0}, 0, 1, 0},
		{"a tie is half", []float64{.5, .5, .9}, []float64{1, 0, 0}, .5, 2, 1},
		{"outcomes alike say nothing", []float64{.5, .5, .9}, []float64{1, 1, 1}, 0, 0, 1},
		{"more than two outcomes", []float64{.1, .4, .3}, []float64{0, .5, 1}, 2, 3, 0},
		{"none", nil, nil, 0, 0, 0},
	} {
		right, pairs := Ordered(c.scores, c.outcomes)
		ties, all := Ties(c.scores)
		if n := len(c.scores); right != c.right || pairs != c.pairs || ties != c.ties || all != n*(n-1)/2 {
			t.Errorf("%s: %v of %d, %d of %d tied", c.name, right, pairs, ties, all)
		}
	}
}

func TestAUC(t *testing.T) {
	for _, c := range []struct {
		name    string
		scores  []float64
		success []bool
		auc     float64
		ok      bool
	}{
		{"perfect", []float64{.9, .1, .8}, []bool{true, false, true}, 1, true},
		{"reversed", []float64{.1, .9}, []bool{true, false}, 0, true},
		{"all tied", []float64{.5, .5, .5}, []bool{true, false, true}, .5, true},
		// The example of scikit-learn's roc_auc_score.
		{"of scikit-learn", []float64{.1, .4, .35, .8}, []bool{false, false, true, true}, .75, true},
		{"no failure", []float64{.1, .9}, []bool{true, true}, 0, false},
		{"none", nil, nil, 0, false},
	} {
		if auc, ok := AUC(c.scores, c.success); !near(auc, c.auc) || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", c.name, auc, ok, c.auc, c.ok)
		}
	}
}

// Of one set of members, AUC is the share of ordered pairs; tau_b does not depend on which of the two comes first, and changes its
// sign with the sign of a score.
func TestAgreementsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		score := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) / 4 }), n, n)
		x, y := score.Draw(t, "x"), score.Draw(t, "y")
		outcomes, success := make([]float64, n), make([]bool, n)
		less := make([]float64, n)
		for i := range n {
			if success[i] = y[i] > .5; success[i] {
				outcomes[i] = 1
			}
			less[i] = -y[i]
		}
		right, pairs := Ordered(x, outcomes)
		if auc, ok := AUC(x, success); ok != (pairs > 0) || ok && !near(auc, right/float64(pairs)) {
			t.Fatalf("AUC %v %v, %v of %d ordered", auc, ok, right, pairs)
		}
		tau, ok := TauB(x, y)
		back, _ := TauB(y, x)
		reversed, same := TauB(x, less)
		if ok != same || tau != back || tau != -reversed || tau < -1 || tau > 1 {
			t.Fatalf("%v %v, %v swapped, %v reversed", tau, ok, back, reversed)
		}
	})
}

func TestByPlace(t *testing.T) {
	q := Question{IDs: []string{"B2", "C3", "D4"}, Messages: []rl.Message{{Role: rl.System, Content: "judge"},
		{Role: rl.User, Content: "# The attempts\n[D4 0123456789a begins]\n> [B2 too early] begins]\n< [C3 0123456789a begins]\n  [C3 0123456789a begins]\n[D4 0123456789a ends]\n[B2 0123456789a begins]\nx\n[B2 0123456789a ends]\n[C3 0123456789a begins]\n"}}}
	whole := `{"scores":[{"id":"B2","score":0.5},{"id":"C3","score":0},{"id":"D4","score":1,"turns":[1]}]}`
	got := ByPlace(q, Reply{Text: whole, Finish: "stop"})
	if len(got) != 3 || got[0] != 1 || got[1] != .5 || got[2] != 0 {
		t.Errorf("%v, want [1 0.5 0]", got)
	}
	if bias, ok := EarlyBias(got); !ok || bias != 1 {
		t.Errorf("bias %v %v, want 1", bias, ok)
	}
	for _, bad := range []Reply{{Text: `{"scores":[]}`}, {Text: "no"}, {Text: whole, Finish: "length"}} {
		if got := ByPlace(q, bad); got != nil {
			t.Errorf("%q: %v", bad.Text, got)
		}
	}
	if bias, ok := EarlyBias([]float64{.25, .75, .5, .5}); !ok || bias != 0 {
		t.Errorf("bias %v %v, want 0", bias, ok)
	}
	if _, ok := EarlyBias([]float64{1}); ok {
		t.Error("one place has a bias")
	}
}
