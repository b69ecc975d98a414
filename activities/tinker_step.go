package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// lesson is what a Tinker service is to be taught in one update.
type lesson struct {
	update rl.UpdateConfig
	loss   nn.Loss
	rate   float64
	rows   []tinker.Row
}

// sent bounds the tokens of one request: some 60 bytes of JSON each.
const sent = 1 << 17

// tinkerEpsilon is added to the root of AdamW's second moment, as by the embedded trainer.
const tinkerEpsilon = 1e-8

// step makes one optimiser step on the rows [from, to). Its numbers are worked out here, from the log-probabilities that
// come back, by the formulas of the embedded trainer.
func (l lesson) step(ctx context.Context, m *tinker.Model, from, to int) (stats nn.Stats, err error) {
	rows, tokens := scaled(l.loss, l.update.Tinker.Reduces, l.rows[from:to])
	if tokens == 0 {
		return stats, nil
	}
	loss := tinker.Loss{Name: l.loss.Kind, Low: 1 - l.loss.ClipLow, High: 1 + l.loss.ClipHigh}
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+len(rows[n].sent.Inputs) <= sent) {
			size += len(rows[n].sent.Inputs)
			n++
		}
		part := make([]tinker.Row, n)
		for i, r := range rows[:n] {
			part[i] = r.sent
		}
		found, err := m.ForwardBackward(ctx, loss, part)
		if err != nil {
			return stats, err
		}
		for i, r := range rows[:n] {
			stats.Add(r.stats(l.loss, found[i], tokens))
		}
		rows = rows[n:]
	}
	u := l.update
	stats.GradNorm, err = m.Step(ctx, tinker.Adam{LearningRate: l.rate, Beta1: u.Beta1, Beta2: u.Beta2, Epsilon: tinkerEpsilon, WeightDecay: u.WeightDecay})
	return stats, err
}

// weighed is a row as it is sent, and what its own loss is divided by.
type weighed struct {
	own, sent tinker.Row
	divisor   float64
}

// scaled makes of the service's way from token losses to a step's the configured one. Its losses are proportional to the
// advantage, so a row's share is set by a factor of its advantages. Rows without a loss are left out: they would count
// in a mean over rows.
func scaled(loss nn.Loss, reduces string, rows []tinker.Row) (out []weighed, tokens int) {
	for _, r := range rows {
		if n := trained(r); n > 0 {
			out = append(out, weighed{own: r})
			tokens += n
		}
	}
	for i := range out {
		w, n := &out[i], trained(out[i].own)
		w.divisor = loss.Divisor(len(out), tokens, n)
		factor := 1 / w.divisor
		if reduces == "sequence_mean" { // the mean over rows of each row's token mean
			factor *= float64(len(out) * n)
		}
		w.sent = w.own
		w.sent.Advantages = make([]float64, len(w.own.Advantages))
		for t, a := range w.own.Advantages {
			w.sent.Advantages[t] = a * factor
		}
	}
	return out, tokens
}

func trained(r tinker.Row) (n int) {
	for _, m := range r.Mask {
		if m {
			n++
		}
	}
	return n
}

// stats are a row's, of a step on so many tokens.
func (w weighed) stats(loss nn.Loss, found []float64, tokens int) nn.Stats {
	old := make([]float64, len(found))
	for t, p := range w.own.LogProbs {
		old[t] = float64(p)
	}
	row := nn.Row{New: found, Old: old, Advantages: w.own.Advantages, Mask: w.own.Mask}
	s := loss.Sum(row, make([]float64, len(found)))
	s.Loss *= float64(tokens) / w.divisor // as nn.Stats has it
	return s
}
