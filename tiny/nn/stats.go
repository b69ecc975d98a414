package nn

import "fmt"

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

// Finite is an error where a number is infinite or none: a sampled token's log-probability was so low that exp overflows.
// Neither JSON nor a curve has such a number.
func (s Stats) Finite() error {
	for _, n := range []struct {
		name  string
		value float64
	}{{"loss", s.Loss}, {"kl", s.KL}, {"reference_kl", s.ReferenceKL}, {"entropy", s.Entropy}, {"ratio_max", s.RatioMax}} {
		if n.value-n.value != 0 {
			return fmt.Errorf("%s is %v: the log-probabilities that were recorded, and the policy's own, are of different policies", n.name, n.value)
		}
	}
	return nil
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
