package nn

import "fmt"

// Pair is two answers to one prompt, of which one was judged better. Both examples need Reference; their LogProbs and
// Advantages are not looked at, but must be as long as Tokens.
type Pair struct{ Chosen, Rejected *Example }

// DPO is direct preference optimisation, for pairs that were scored offline: the mean over pairs of
//
//	-log sigmoid(Beta * ((new_c - ref_c) - (new_r - ref_r)))
//
// with each log-probability summed over its example's trained tokens. R. Rafailov and others, Direct Preference
// Optimization, 2023, arXiv:2305.18290.
type DPO struct{ Beta float64 }

// Value is one pair's loss and its derivative by new_c, the reverse of that by new_r; margin is
// (new_c - ref_c) - (new_r - ref_r).
func (d DPO) Value(margin float64) (loss, slope float64) {
	h := float64(d.Beta * margin)
	wrong := 1 / (1 + exp64(h)) // sigmoid(-h)
	loss = log64(1 + exp64(-h))
	if h < 0 { // the same without e^-h, which is large
		loss = log64(1+exp64(h)) - h
	}
	return loss, -float64(d.Beta * wrong)
}

// UpdatePairs makes one optimiser step on the pairs. Of the stats, Loss / Tokens is the loss. It fails, and changes
// nothing, as Update does, and on a pair without trained tokens or reference on either side.
func (t *Trainer) UpdatePairs(pairs []Pair, d DPO) (Stats, error) {
	if !(d.Beta > 0) {
		return Stats{}, fmt.Errorf("DPO with beta %v: want more than 0", d.Beta)
	}
	var both []*Example
	for i, p := range pairs {
		for _, e := range []*Example{p.Chosen, p.Rejected} {
			if e.Reference == nil || len(e.trained()) == 0 {
				return Stats{}, fmt.Errorf("pair %d: an answer has no trained token or no reference log-probabilities", i)
			}
			both = append(both, e)
		}
	}
	size, err := t.Model.measure(both)
	if err != nil || len(pairs) == 0 {
		return Stats{}, err
	}
	return t.step(len(pairs), func(l *lane, tape *tape, i int) { l.pair(tape, pairs[i], d, t.Temperature, len(pairs), size.tokens) })
}

// pair adds one pair's share. The derivatives of either answer need the log-probabilities of both, and a tape
// holds one: the chosen answer is walked twice.
func (l *lane) pair(t *tape, p Pair, d DPO, temperature float64, pairs, tokens int) {
	seen := func(e *Example) (headed, float64) {
		t.forward(e.Tokens)
		h := t.head(e, e.trained(), temperature, 0)
		gap := 0.0
		for i, v := range h.New {
			gap += v - h.Reference[i]
		}
		return h, gap
	}
	_, chosen := seen(p.Chosen)
	h, rejected := seen(p.Rejected)
	loss, slope := d.Value(chosen - rejected)
	slope /= float64(pairs)
	l.imitate(t, p.Rejected, h, -slope)
	h, _ = seen(p.Chosen)
	l.imitate(t, p.Chosen, h, slope)
	l.Stats.Loss += float64(loss*float64(tokens)) / float64(pairs)
}

// imitate is the backward pass of slope times the sum of the example's log-probabilities.
func (l *lane) imitate(t *tape, e *Example, seen headed, slope float64) {
	at := e.trained()
	grad := make([]float64, len(at))
	for i := range grad {
		grad[i] = slope
	}
	for _, h := range seen.entropy {
		l.Stats.Entropy += h
	}
	l.Stats.Tokens += len(at)
	l.back(t, e, at, seen, grad, 0)
}
