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

// step adds the example's share of the token mean: its loss to the stats and its gradient, divided by the
// number of tokens trained in the whole batch, to the lane's.
func (l *lane) step(t *tape, e *Example, loss Loss, temperature, tokens float64) {
	at := e.trained()
	if len(at) == 0 {
		return
	}
	if e.SFT {
		temperature = 1
	}
	t.forward(e.Tokens)
	seen := t.head(e, at, temperature)
	grad := make([]float64, len(at))
	var s Stats
	if e.SFT {
		s = crossEntropy(seen.Row, grad)
	} else {
		s = loss.Sum(seen.Row, grad)
	}
	s.Entropy = seen.entropy
	l.Stats.Add(s)
	v := t.m.V
	for i, position := range at {
		// d logProb(target) / d logit_j = scale * ([j is target] - p_j)
		c := float32(grad[i] / tokens * float64(seen.dist[i].scale))
		k := float32(-c / seen.dist[i].sum)
		d := t.logits[i*v : (i+1)*v]
		kern.Scale(d, t.probs[i*v:], k)
		d[e.Tokens[position]] += c
	}
	t.backward(l, e.Tokens, at)
	l.fresh = false
}

// headed is the head's answer for an example's trained positions.
type headed struct {
	Row
	dist    []distribution
	entropy float64 // sum
}

// head computes, for the trained positions, the logits (from the position before) and the distributions.
func (t *tape) head(e *Example, at []int, temperature float64) headed {
	m, n := t.m, len(at)
	d, v := m.D, m.V
	normed, inverse := grow(&t.normed, n*d), grow(&t.inverse, n)
	for i, p := range at {
		rmsNorm(normed[i*d:], t.x[(p-1)*d:], m.norm, inverse[i:], 1, d)
	}
	logits, probs := grow(&t.logits, n*v), grow(&t.probs, n*v)
	kern.Gemm(rows(logits, v), rows(normed, d), n, &m.logits, false)
	h := headed{dist: make([]distribution, n)}
	h.Row = Row{New: make([]float64, n), Old: make([]float64, n), Advantages: make([]float64, n), Mask: make([]bool, n)}
	for i, p := range at {
		row, unscaled := logits[i*v:(i+1)*v], probs[i*v:(i+1)*v]
		h.dist[i] = distribute(unscaled, row, temperature)
		h.entropy += h.dist[i].entropy(unscaled, row)
		h.Mask[i], h.New[i] = true, float64(h.dist[i].logProb(row[e.Tokens[p]]))
		if !e.SFT {
			h.Old[i], h.Advantages[i] = float64(e.LogProbs[p]), float64(e.Advantages[p])
		}
	}
	return h
}
