package nn

// Row is what a loss knows of one sequence: slices of one length, an entry per token. Log-probabilities are
// natural. Where Mask is false the other values are not looked at (they may be NaN).
type Row struct {
	New        []float64 // under the policy that is trained
	Old        []float64 // under the policy that ratios are taken against
	Advantages []float64
	Mask       []bool
	Sampler    []float64 // as the engine that sampled gave them, NaN where it gave none; nil: they are Old
	Weights    []float64 // times each token's policy loss; nil: 1
	Reference  []float64 // under the reference policy; nil: there is none
}

// sampler is the log-probability that token t was sampled with; unknown, it counts as today's.
func (r *Row) sampler(t int) float64 {
	switch {
	case r.Sampler == nil:
		return r.Old[t]
	case r.Sampler[t] != r.Sampler[t]:
		return r.New[t]
	}
	return r.Sampler[t]
}

// moved is how far the row's log-probabilities are, as means over its trained tokens: from the old policy, and below
// what they were sampled with. The second estimates KL(sampler || new) by k1.
func (r *Row) moved() (gap, fall float64) {
	n := 0.0
	for t, trained := range r.Mask {
		if trained {
			n++
			gap += r.New[t] - r.Old[t]
			fall += r.sampler(t) - r.New[t]
		}
	}
	n = max(n, 1)
	return gap / n, fall / n
}
