package nn

import (
	"math"
	"strings"
	"testing"
)

// prepared is a batch with what every loss may ask for: old and reference log-probabilities, and a token that the
// engine gave none for.
func prepared(t *testing.T, m *Model, seed uint64) []*Example {
	t.Helper()
	rows := batch(seed, small)
	old, err := m.Score(rows, .9, 2)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := New(small, 8).Score(rows, .9, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range rows {
		e.Old, e.Reference = old[i], reference[i]
	}
	rows[0].LogProbs[4] = float32(math.NaN())
	return rows
}

// Every loss, with all that can be added to it, gives the same weights and statistics on any number of threads, and
// they are finite; the one that goes by rows, on every instruction set too.
func TestEveryLossIsExact(t *testing.T) {
	for _, l := range every() {
		l.MismatchCap, l.EntropyCoef = 2, .01
		run := func(threads int) (string, Stats) {
			m := New(small, 7)
			trainer := NewTrainer(m, threads)
			trainer.Loss, trainer.Temperature = l, .9
			var s Stats
			for i := range 2 {
				step, err := trainer.Update(prepared(t, m, uint64(i)))
				if err != nil {
					t.Fatal(err)
				}
				s.Add(step)
			}
			return m.Hash(), s
		}
		hash, s := run(1)
		if again, other := run(3); again != hash || other != s {
			t.Errorf("%s %s: %s %+v on one thread, %s %+v on three", l.Kind, l.Reduction, hash, s, again, other)
		}
		if l.Kind == GSPO && l.Reduction == SequenceMean {
			eachMode(t, func(mode string) {
				if other, _ := run(2); other != hash {
					t.Errorf("%s: weights %s, not %s", mode, other, hash)
				}
			})
		}
		if s.Loss-s.Loss != 0 || s.ReferenceKL <= 0 || s.KL <= 0 || s.RatioMax <= 0 {
			t.Errorf("%s %s: %+v", l.Kind, l.Reduction, s)
		}
	}
}

// Loss / Tokens is the loss under the reduction: rows that are alike have one loss, whatever their lengths.
func TestLossOfAStep(t *testing.T) {
	for _, reduction := range Reductions() {
		m := New(small, 7)
		trainer := NewTrainer(m, 2)
		trainer.Loss = Loss{Kind: PPO, ClipLow: .2, ClipHigh: .2, Reduction: reduction, Length: 100, Tokens: 50}
		rows := []*Example{drawn(source(1), small, 30, false), drawn(source(2), small, 60, false)}
		n := 0
		for i, e := range rows {
			scores, err := trainer.Score(rows[i : i+1])
			if err != nil {
				t.Fatal(err)
			}
			e.LogProbs = scores[0]
			for t := range e.Advantages {
				e.Advantages[t] = 2
			}
			n += len(e.trained())
		}
		want := map[string]float64{TokenMean: -2, SequenceMean: -2, Constant: -2 * float64(n) / 200, GlobalTokenMean: -2 * float64(n) / 50}
		s, err := trainer.Update(rows)
		if err != nil || math.Abs(s.Loss/float64(s.Tokens)-want[reduction]) > 1e-12 {
			t.Errorf("%s: %+v, %v, want %v", reduction, s, err, want[reduction])
		}
	}
}

// A bonus on the entropy, alone, raises it.
func TestEntropyBonusRaisesEntropy(t *testing.T) {
	m := New(small, 7)
	trainer := NewTrainer(m, 2)
	trainer.Loss.EntropyCoef, trainer.LearningRate = 1, 3e-3
	e := drawn(source(1), small, 60, false)
	clear(e.Advantages)
	var entropies []float64
	for range 4 {
		s, err := trainer.Update([]*Example{e})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(entropies); n > 0 && s.Entropy <= entropies[n-1] {
			t.Errorf("entropy %v after %v", s.Entropy, entropies)
		}
		entropies = append(entropies, s.Entropy)
	}
}

// A loss says what an example lacks for it, instead of leaving its term out.
func TestLossLacks(t *testing.T) {
	m := New(small, 7)
	trainer := NewTrainer(m, 1)
	for want, l := range map[string]Loss{
		"example 0: no reference log-probabilities": {Kind: PPO, ClipLow: .2, ClipHigh: .2, KLCoef: .1},
		"example 0: no old log-probabilities":       {Kind: PPO, ClipLow: .2, ClipHigh: .2, MismatchCap: 2},
	} {
		trainer.Loss = l
		if _, err := trainer.Update(batch(1, small)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	rows := prepared(t, m, 1)
	rows[2].Old = rows[2].Old[1:]
	if _, err := trainer.Score(rows); err == nil || !strings.Contains(err.Error(), "old log-probabilities") {
		t.Error(err)
	}
}
