package nn

// Stats describes one or more optimiser steps. Loss, KL, ReferenceKL and Entropy are sums over the trained tokens, in
// nats: divide by Tokens for the mean.
type Stats struct {
	Tokens int
	// Loss is scaled so that Loss / Tokens is a step's loss whatever its reduction; of several steps it is the mean
	// by their tokens.
	Loss float64
	// KL estimates the divergence of the trained policy from the one that sampled, KL(sampler || new), by K3.
	// 0 for demonstrations.
	KL float64
	// ReferenceKL estimates KL(new || reference), by K3 whatever Loss.KL; 0 without a reference.
	ReferenceKL float64
	// Entropy is the true entropy of the distributions that the trained tokens were drawn from.
	Entropy float64
	// ClippedLow and ClippedHigh count the tokens whose ratio the clip range held back, by side.
	ClippedLow, ClippedHigh int
	// OffPolicy counts the tokens that Loss.OffPolicyMask dropped.
	OffPolicy int
	// RatioMax is the greatest ratio met.
	RatioMax float64
	// GradNorm is the gradient's Euclidean norm before it was scaled down; of several steps the greatest.
	GradNorm float64
}

// Add takes in the stats of other tokens or of another step.
func (s *Stats) Add(o Stats) {
	s.Tokens += o.Tokens
	s.Loss += o.Loss
	s.KL += o.KL
	s.ReferenceKL += o.ReferenceKL
	s.Entropy += o.Entropy
	s.ClippedLow += o.ClippedLow
	s.ClippedHigh += o.ClippedHigh
	s.OffPolicy += o.OffPolicy
	s.RatioMax = max(s.RatioMax, o.RatioMax)
	s.GradNorm = max(s.GradNorm, o.GradNorm)
}

// take counts one token's policy loss.
func (s *Stats) take(o outcome) {
	s.Loss += o.loss
	if o.low {
		s.ClippedLow++
	}
	if o.high {
		s.ClippedHigh++
	}
}
