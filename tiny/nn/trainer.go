package nn

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Lanes is the number of sums a gradient is made of. It is fixed so that the order of additions, and with it
// every bit of the result, does not depend on the number of threads; more than Lanes threads gain nothing.
const Lanes = 4

// ErrNotFinite says that a gradient had no finite norm. The weights and the optimiser are as they were.
var ErrNotFinite = errors.New("the gradient is not finite")

// Trainer makes optimiser steps on a model.
type Trainer struct {
	Model       *Model
	Loss        Loss    // for examples that are not SFT
	Temperature float64 // of the softmax the tokens were sampled from; 0 (greedy) counts as 1
	AdamW
	MaxGradNorm float64 // a longer gradient is scaled down to it; 0: never

	lanes []*lane
	tapes []*tape // one a thread
}

// NewTrainer makes a trainer with a fresh optimiser, PPO with a clip range of 0.2 and a learning rate of 1e-3,
// which works on up to that many threads. Its fields may be set before any Update.
func NewTrainer(m *Model, threads int) *Trainer {
	t := &Trainer{
		Model: m, Loss: Loss{Kind: PPO, ClipLow: 0.2, ClipHigh: 0.2}, Temperature: 1, MaxGradNorm: 1,
		AdamW: newAdamW(len(m.W)),
	}
	for range Lanes {
		t.lanes = append(t.lanes, newLane(m.Config))
	}
	t.tapes = m.tapes(min(threads, Lanes))
	return t
}

// Update makes one optimiser step on the batch's loss. A batch without a trained token has
// loss 0 and leaves the weights and the optimiser alone. It fails, and changes nothing, on an example that does
// not fit the model and with ErrNotFinite.
func (t *Trainer) Update(batch []*Example) (Stats, error) {
	if err := t.Loss.Check(); err != nil {
		return Stats{}, err
	}
	size, err := t.Model.measure(batch)
	if err != nil || size.tokens == 0 {
		return Stats{}, err
	}
	for i, e := range batch {
		if err := t.Loss.lacks(e); err != nil {
			return Stats{}, fmt.Errorf("example %d: %w", i, err)
		}
	}
	return t.step(len(batch), func(l *lane, tape *tape, i int) { l.step(tape, batch[i], t.Loss, t.Temperature, size) })
}

// step makes one optimiser step on the sum of what add does for 0..n-1.
func (t *Trainer) step(n int, add func(l *lane, tape *tape, i int)) (Stats, error) {
	t.parallel(Lanes, func(tape *tape, i int) {
		l := t.lanes[i]
		l.reset()
		for j := i; j < n; j += Lanes {
			add(l, tape, j)
		}
		l.close()
	})
	var s Stats
	for _, l := range t.lanes {
		s.Add(l.Stats)
	}
	s.GradNorm = t.sum()
	if s.GradNorm-s.GradNorm != 0 {
		return Stats{}, ErrNotFinite
	}
	scale := 1.0
	if t.MaxGradNorm > 0 && s.GradNorm > t.MaxGradNorm {
		scale = t.MaxGradNorm / s.GradNorm
	}
	t.apply(float32(scale))
	return s, nil
}

// chunks cut the flat weights for work on several threads; fixed for the same reason as Lanes.
const chunks = 16

func (t *Trainer) chunk(i int) (from, to int) {
	n := len(t.Model.W)
	return i * n / chunks, (i + 1) * n / chunks
}

// sum adds up the lanes' gradients in lane order, into the first, and returns the norm.
func (t *Trainer) sum() float64 {
	var squares [chunks]float64
	t.parallel(chunks, func(_ *tape, c int) {
		from, to := t.chunk(c)
		var g [Lanes][]float32
		for i, l := range t.lanes {
			g[i] = l.grad[from:to]
		}
		sum := 0.0
		for i := range g[0] {
			v := g[0][i] + g[1][i] + g[2][i] + g[3][i]
			g[0][i] = v
			sum += float64(float64(v) * float64(v))
		}
		squares[c] = sum
	})
	var sum float64
	for _, v := range squares {
		sum += v
	}
	return math.Sqrt(sum)
}

// apply makes the AdamW step with the gradient times scale.
func (t *Trainer) apply(scale float32) {
	step := t.AdamW.next()
	t.parallel(chunks, func(_ *tape, c int) {
		from, to := t.chunk(c)
		step.apply(t.Model.W[from:to], t.lanes[0].grad[from:to], t.mean[from:to], t.square[from:to], scale)
	})
	t.Model.Repack()
}

// parallel runs f for 0..n-1 on the trainer's threads, each with its own tape.
func (t *Trainer) parallel(n int, f func(tape *tape, i int)) { parallel(t.tapes, n, f) }

// parallel runs f for 0..n-1 on a goroutine a tape.
func parallel(tapes []*tape, n int, f func(tape *tape, i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for _, tape := range tapes[:min(len(tapes), n)] {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(tape, i)
			}
		})
	}
	group.Wait()
}
