package nn

import "github.com/longhaul-rl/longhaul/tiny/kern"

// lane is one of the fixed number of sums that an update's gradient consists of. Example j goes to lane
// j%Lanes, in order; a lane is worked on by one goroutine at a time, with that goroutine's tape.
type lane struct {
	grad []float32 // [NumParams]
	params
	Stats
	fresh bool // no example has come yet; the first writes the matrices' gradients, whatever they hold
}

func newLane(c Config) *lane {
	l := &lane{grad: make([]float32, c.NumParams())}
	l.params = c.view(l.grad)
	return l
}

func (l *lane) reset() {
	clear(l.norm)
	for _, p := range l.layers {
		clear(p.norm1)
		clear(p.norm2)
	}
	l.Stats, l.fresh = Stats{}, true
}

// close makes the gradient of a lane that no example came to: zero.
func (l *lane) close() {
	if l.fresh {
		clear(l.grad)
	}
}

// step adds the example's share of the batch's loss: its loss to the stats and its gradient, divided as the loss's
// reduction says, to the lane's.
func (l *lane) step(t *tape, e *Example, loss Loss, temperature float64, batch size) {
	at := e.trained()
	if len(at) == 0 {
		return
	}
	if e.SFT {
		temperature = 1
	}
	t.forward(e.Tokens)
	seen := t.head(e, at, temperature, loss.MismatchCap)
	grad := make([]float64, len(at))
	var s Stats
	bonus := 0.0
	if e.SFT {
		s = crossEntropy(seen.Row, grad)
	} else {
		s = loss.Sum(seen.Row, grad)
		bonus = loss.EntropyCoef
	}
	for _, h := range seen.entropy {
		s.Entropy += h
	}
	s.Loss -= float64(bonus * s.Entropy)
	divisor := loss.divisor(batch, len(at))
	s.Loss = float64(s.Loss * (float64(batch.tokens) / divisor))
	l.Stats.Add(s)
	for i := range grad {
		grad[i] /= divisor
	}
	l.back(t, e, at, seen, grad, bonus/divisor)
}

// back is the backward pass from the derivative of the loss by each trained token's log-probability, less bonus times
// the entropy of its distribution.
func (l *lane) back(t *tape, e *Example, at []int, seen headed, grad []float64, bonus float64) {
	v := t.m.V
	for i, position := range at {
		// d logProb(target) / d logit_j = scale * ([j is target] - p_j)
		c := float32(grad[i] * float64(seen.dist[i].scale))
		d, p := t.logits[i*v:(i+1)*v], t.probs[i*v:(i+1)*v]
		if bonus != 0 {
			seen.dist[i].spread(d, p, seen.entropy[i], c, bonus)
		} else {
			kern.Scale(d, p, float32(-c/seen.dist[i].sum))
		}
		d[e.Tokens[position]] += c
	}
	t.backward(l, e.Tokens, at)
	l.fresh = false
}

// headed is the head's answer for an example's trained positions.
type headed struct {
	Row
	dist    []distribution
	entropy []float64
}

// head computes, for the trained positions, the logits (from the position before) and the distributions. A mismatch cap
// over 0 asks for the weights of examples with Old.
func (t *tape) head(e *Example, at []int, temperature, mismatchCap float64) headed {
	m, n := t.m, len(at)
	d, v := m.D, m.V
	normed, inverse := grow(&t.normed, n*d), grow(&t.inverse, n)
	for i, p := range at {
		rmsNorm(normed[i*d:], t.x[(p-1)*d:], m.norm, inverse[i:], 1, d)
	}
	logits, probs := grow(&t.logits, n*v), grow(&t.probs, n*v)
	kern.Gemm(rows(logits, v), rows(normed, d), n, &m.logits, false)
	h := headed{dist: make([]distribution, n), entropy: make([]float64, n)}
	h.Row = Row{New: make([]float64, n), Mask: make([]bool, n)}
	for i, p := range at {
		row, unscaled := logits[i*v:(i+1)*v], probs[i*v:(i+1)*v]
		h.dist[i] = distribute(unscaled, row, temperature)
		h.entropy[i] = h.dist[i].entropy(unscaled, row)
		h.Mask[i], h.New[i] = true, float64(h.dist[i].logProb(row[e.Tokens[p]]))
	}
	if e.SFT {
		return h
	}
	h.Old, h.Advantages, h.Reference = picked(e.old(), at), picked(e.Advantages, at), picked(e.Reference, at)
	if e.Old != nil {
		h.Sampler = picked(e.LogProbs, at)
		if mismatchCap > 0 {
			h.Weights = MismatchWeights(h.Old, h.Sampler, h.New, mismatchCap)
		}
	}
	return h
}

// picked are the values at some positions; nil for nil.
func picked(values []float32, at []int) []float64 {
	if values == nil {
		return nil
	}
	out := make([]float64, len(at))
	for i, p := range at {
		out[i] = float64(values[p])
	}
	return out
}
