package nn

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDPOVectors(t *testing.T) {
	for _, c := range readVectors(t).DPO {
		value, slope := DPO{c.Beta}.Value((c.Chosen - c.ReferenceChosen) - (c.Rejected - c.ReferenceRejected))
		near(t, "dpo", value, c.Value, 1e-9)
		near(t, "dpo by the chosen", slope, c.Gradients[0], 1e-9)
		near(t, "dpo by the rejected", -slope, c.Gradients[1], 1e-9)
	}
}

// The slope is the finite difference of the value, and neither overflows.
func TestDPODerivative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, margin := DPO{rapid.Float64Range(.01, 2).Draw(t, "beta")}, rapid.Float64Range(-50, 50).Draw(t, "margin")
		const h = 1e-5
		up, _ := d.Value(margin + h)
		down, _ := d.Value(margin - h)
		if value, slope := d.Value(margin); value < 0 || math.Abs(slope-(up-down)/(2*h)) > 1e-7 {
			t.Fatalf("%v, slope %v, by difference %v", value, slope, (up-down)/(2*h))
		}
	})
	for _, margin := range []float64{-1e6, 1e6} {
		if value, slope := (DPO{1}).Value(margin); math.IsInf(value, 0) || value != value || math.Abs(slope) > 1 {
			t.Errorf("margin %v: %v, %v", margin, value, slope)
		}
	}
}

// pairsOf are pairs whose reference is the model as it is.
func pairsOf(t *testing.T, m *Model) (pairs []Pair) {
	t.Helper()
	r := source(4)
	for i := range 5 {
		p := Pair{drawn(r, small, 20+5*i, false), drawn(r, small, 30, false)}
		for _, e := range []*Example{p.Chosen, p.Rejected} {
			scores, err := m.Score([]*Example{e}, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			e.Reference = scores[0]
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// At the reference the loss is log 2; each update lowers it, on any number of threads to the same weights.
func TestUpdatePairs(t *testing.T) {
	var hashes []string
	for _, threads := range []int{1, 2} {
		m := New(small, 7)
		trainer, pairs := NewTrainer(m, threads), pairsOf(t, m)
		last := math.Inf(1)
		for i := range 4 {
			s, err := trainer.UpdatePairs(pairs, DPO{.5})
			if err != nil {
				t.Fatal(err)
			}
			loss := s.Loss / float64(s.Tokens)
			if i == 0 && math.Abs(loss-math.Ln2) > 1e-12 || loss >= last {
				t.Errorf("update %d: loss %v after %v", i, loss, last)
			}
			last = loss
		}
		hashes = append(hashes, m.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Errorf("weights %v", hashes)
	}
}

// The gradient of a pair is the finite difference of its loss, through the network.
func TestPairGradient(t *testing.T) {
	m := New(small, 7)
	p := pairsOf(t, m)[2]
	loss := func() (*lane, float64) {
		m.Repack()
		l := newLane(small)
		l.pair(newTape(m), p, DPO{2}, 1, 1, 1)
		return l, l.Loss
	}
	l, _ := loss()
	r := source(5)
	for range 40 {
		i := r.IntN(len(m.W))
		const h = 3e-3
		before := m.W[i]
		m.W[i] = before + h
		_, up := loss()
		m.W[i] = before - h
		_, down := loss()
		m.W[i] = before
		want := (up - down) / (2 * h)
		if got := float64(l.grad[i]); math.Abs(got-want) > 0.02*math.Abs(want)+0.02 {
			t.Errorf("weight %d: gradient %.5f, by difference %.5f", i, got, want)
		}
	}
}

func TestUpdatePairsRefuses(t *testing.T) {
	m := New(small, 7)
	trainer, start := NewTrainer(m, 1), m.Hash()
	for want, change := range map[string]func([]Pair, *DPO){
		"beta":               func(_ []Pair, d *DPO) { d.Beta = 0 },
		"pair 3":             func(p []Pair, _ *DPO) { p[3].Rejected.Reference = nil },
		"no trained token":   func(p []Pair, _ *DPO) { p[1].Chosen.LossMask = make([]bool, len(p[1].Chosen.Tokens)) },
		"of the vocabulary":  func(p []Pair, _ *DPO) { p[1].Chosen.Tokens[2] = 1 << 20 },
		"reference log-prob": func(p []Pair, _ *DPO) { p[1].Chosen.Reference[4] = float32(math.Inf(-1)) },
	} {
		pairs, d := pairsOf(t, m), DPO{.1}
		change(pairs, &d)
		if _, err := trainer.UpdatePairs(pairs, d); err == nil || !strings.Contains(err.Error(), want) || m.Hash() != start {
			t.Errorf("%q: %v", want, err)
		}
	}
}
