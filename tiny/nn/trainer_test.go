package nn

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// The SHA-256 of the weights after the updates of trained. It is the same on every machine; a change here means
// that checkpoints of older versions are not reached again by the same run.
const goldenHash = "5d39c5966f5f465474d1ee8846ed4da4904962567319954bd57b343acd768c05"

// batch mixes policy rows and demonstrations of different lengths.
func batch(seed uint64, c Config) (all []*Example) {
	r := source(seed)
	for i := range 11 {
		all = append(all, drawn(r, c, 20+7*i, i%4 == 3))
	}
	return all
}

// trained makes three updates with different losses and returns the model and the last stats.
func trained(t *testing.T, threads int) (*Model, Stats) {
	t.Helper()
	m := New(small, 7)
	trainer := NewTrainer(m, threads)
	trainer.Temperature = 0.9
	var last Stats
	for i, loss := range []Loss{{Kind: PPO, ClipLow: .2, ClipHigh: .28}, {Kind: CISPO, ClipLow: 1, ClipHigh: 4}, {Kind: PPO, ClipLow: .2, ClipHigh: .2}} {
		trainer.Loss = loss
		s, err := trainer.Update(batch(uint64(i), small))
		if err != nil {
			t.Fatal(err)
		}
		last = s
	}
	return m, last
}

// The same weights and the same statistics whatever the threads and the instruction set.
func TestUpdateBits(t *testing.T) {
	_, want := trained(t, 1)
	if want.Tokens != 378 || want.ClippedLow+want.ClippedHigh == 0 || want.KL <= 0 || want.Entropy <= 0 {
		t.Errorf("%+v", want)
	}
	eachMode(t, func(mode string) {
		for _, threads := range []int{1, 2, 16} {
			if mode == kern.Portable && threads != 2 {
				continue // slow, and threads do not meet the kernels
			}
			m, stats := trained(t, threads)
			if m.Hash() != goldenHash {
				t.Errorf("%s, %d threads: weights %s, want %s", mode, threads, m.Hash(), goldenHash)
			}
			if stats != want {
				t.Errorf("%s, %d threads: %+v, want %+v", mode, threads, stats, want)
			}
		}
	})
}

// On the policy's own samples the ratio is exactly 1: KL is 0, nothing is clipped, the loss is -mean(A).
func TestUpdateOnPolicy(t *testing.T) {
	m := New(small, 7)
	trainer := NewTrainer(m, 2)
	trainer.Temperature = 1.3
	e := drawn(source(1), small, 60, false)
	scores, err := trainer.Score([]*Example{e})
	if err != nil {
		t.Fatal(err)
	}
	e.LogProbs = scores[0]
	var sum float64
	for i, trained := range e.LossMask {
		if trained {
			sum -= float64(e.Advantages[i])
		}
	}
	s, err := trainer.Update([]*Example{e})
	if err != nil || s.KL != 0 || s.ClippedLow != 0 || s.ClippedHigh != 0 || math.Abs(s.Loss-sum) > 1e-9 {
		t.Errorf("%+v, %v: want no KL, nothing clipped, loss %v", s, err, sum)
	}
}

// Updates raise what has a positive advantage and lower what has a negative one.
func TestUpdateLearns(t *testing.T) {
	for _, kind := range []string{PPO, CISPO} {
		m := New(small, 7)
		trainer := NewTrainer(m, 2)
		trainer.Loss.Kind, trainer.LearningRate = kind, 3e-3
		good, bad := drawn(source(1), small, 40, false), drawn(source(2), small, 40, false)
		examples := []*Example{good, bad}
		for i := range 40 {
			good.Advantages[i], bad.Advantages[i] = 1, -1
		}
		before, _ := trainer.Score(examples)
		for range 5 {
			good.LogProbs, bad.LogProbs = before[0], before[1]
			if _, err := trainer.Update(examples); err != nil {
				t.Fatal(err)
			}
		}
		after, _ := trainer.Score(examples)
		if total(after[0]) <= total(before[0]) || total(after[1]) >= total(before[1]) {
			t.Errorf("%s: good %v -> %v, bad %v -> %v", kind, total(before[0]), total(after[0]), total(before[1]), total(after[1]))
		}
	}
}

func total(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x)
	}
	return sum
}

// A masked row changes nothing beside other rows; a wholly masked batch has loss 0 and leaves the weights alone.
func TestUpdateMasked(t *testing.T) {
	masked := drawn(source(9), small, 30, false)
	nan := float32(math.NaN())
	for i := range masked.LossMask {
		masked.LossMask[i], masked.LogProbs[i], masked.Advantages[i] = false, nan, nan
	}
	m := New(small, 7)
	trainer, start := NewTrainer(m, 2), m.Hash()
	for _, b := range [][]*Example{nil, {masked}, {masked, masked}} {
		s, err := trainer.Update(b)
		if err != nil || s != (Stats{}) || m.Hash() != start || trainer.Steps != 0 {
			t.Fatalf("%d masked rows: %+v, %v, %d steps", len(b), s, err, trainer.Steps)
		}
	}
	row := drawn(source(1), small, 30, false)
	with, err := trainer.Update([]*Example{row, masked})
	if err != nil {
		t.Fatal(err)
	}
	other := New(small, 7)
	without, err := NewTrainer(other, 1).Update([]*Example{row})
	if err != nil || with != without || m.Hash() != other.Hash() {
		t.Errorf("a masked row changed the update: %+v, %+v, %v", with, without, err)
	}
}

// Training goes on from an exported state as if it had not stopped.
func TestStateRoundTrip(t *testing.T) {
	through := New(small, 7)
	a := NewTrainer(through, 2)
	update := func(tr *Trainer, i uint64) {
		if _, err := tr.Update(batch(i, small)); err != nil {
			t.Fatal(err)
		}
	}
	update(a, 0)
	update(a, 1)
	stopped, err := FromTensors(small, through.Tensors())
	if err != nil {
		t.Fatal(err)
	}
	b := NewTrainer(stopped, 1)
	if err := b.SetState(a.State()); err != nil {
		t.Fatal(err)
	}
	update(a, 2)
	update(b, 2)
	if through.Hash() != stopped.Hash() || a.Steps != 3 || b.Steps != 3 {
		t.Error("the run that was stopped ends elsewhere")
	}
	fresh := NewTrainer(New(small, 7), 1)
	for _, bad := range [][2]int{{0, 0}, {1, 0}} {
		state := a.State()
		if bad[0] == 1 {
			state = append(state, state[0])
		} else {
			state = state[1:]
		}
		if err := fresh.SetState(state); err == nil || fresh.Steps != 0 {
			t.Error("a state with a tensor too many or too few was taken")
		}
	}
}

func TestUpdateRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for want, change := range map[string]func(*Example){
		"outside of the vocabulary":  func(e *Example) { e.Tokens[3] = 50 },
		"token -1":                   func(e *Example) { e.Tokens[3] = -1 },
		"mask values":                func(e *Example) { e.LossMask = e.LossMask[1:] },
		"log-probabilities":          func(e *Example) { e.LogProbs = nil },
		"log-probability NaN at 4":   func(e *Example) { e.LogProbs[4] = nan },
		"advantage NaN at 5":         func(e *Example) { e.Advantages[5] = nan },
		"first token":                func(e *Example) { e.LossMask[0] = true },
		"0 tokens: want 1 to 128":    func(e *Example) { *e = Example{} },
		"129 tokens: want 1 to 128":  func(e *Example) { *e = *drawn(source(1), small, 129, false) },
		"the gradient is not finite": func(e *Example) { e.Advantages[4], e.LogProbs[4] = 3e38, -900 },
	} {
		m := New(small, 7)
		trainer, start := NewTrainer(m, 2), m.Hash()
		trainer.Loss = Loss{Kind: CISPO, ClipLow: 1, ClipHigh: math.MaxFloat64 / 2}
		e := drawn(source(1), small, 30, false)
		change(e)
		_, err := trainer.Update([]*Example{drawn(source(2), small, 30, false), e})
		if err == nil || !strings.Contains(err.Error(), want) || m.Hash() != start || trainer.Steps != 0 {
			t.Errorf("%q: %v, %d steps", want, err, trainer.Steps)
		}
		if want == ErrNotFinite.Error() && !errors.Is(err, ErrNotFinite) {
			t.Errorf("%v is not ErrNotFinite", err)
		}
	}
	trainer := NewTrainer(New(small, 7), 1)
	trainer.Loss.Kind = "grpo"
	if _, err := trainer.Update(batch(1, small)); err == nil {
		t.Error("an unknown loss was taken")
	}
}
