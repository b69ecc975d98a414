package nn

// Stats describes one or more optimiser steps. Loss, KL and Entropy are sums over the trained tokens, in nats:
// divide by Tokens for the mean.
type Stats struct {
	Tokens int
	Loss   float64
	// KL estimates the divergence of the trained policy from the one that sampled, KL(old || new), by k3:
	// r - 1 - log r with r = exp(new - old). 0 for demonstrations. J. Schulman, Approximating KL Divergence, 2020.
	KL float64
	// Entropy is the true entropy of the distributions that the trained tokens were drawn from.
	Entropy float64
	// ClippedLow and ClippedHigh count the tokens whose ratio the clip range held back, by side.
	ClippedLow, ClippedHigh int
	// GradNorm is the gradient's Euclidean norm before it was scaled down; of several steps the greatest.
	GradNorm float64
}

// Add takes in the stats of other tokens or of another step.
func (s *Stats) Add(o Stats) {
	s.Tokens += o.Tokens
	s.Loss += o.Loss
	s.KL += o.KL
	s.Entropy += o.Entropy
	s.ClippedLow += o.ClippedLow
	s.ClippedHigh += o.ClippedHigh
	s.GradNorm = max(s.GradNorm, o.GradNorm)
}
