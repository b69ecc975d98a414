package nn

import "math"

// AdamW is the optimiser: I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization, 2019, in PyTorch's
// form. With gradient g, step number t and learning rate a:
//
//	m = b1*m + (1-b1)*g        v = b2*v + (1-b2)*g^2
//	w = w - a*decay*w - a/(1-b1^t) * m / (sqrt(v/(1-b2^t)) + eps)
type AdamW struct {
	LearningRate float64
	WeightDecay  float64
	Beta1, Beta2 float64
	Epsilon      float64
	Steps        int // optimiser steps made so far

	mean, square []float32 // m and v, in the order of Model.W
}

func newAdamW(n int) AdamW {
	return AdamW{LearningRate: 1e-3, WeightDecay: 0.01, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8,
		mean: make([]float32, n), square: make([]float32, n)}
}

// adamStep is the numbers of one step.
type adamStep struct{ rate, decay, root, b1, b2, c1, c2, eps float32 }

// next counts a step and works out its numbers.
func (a *AdamW) next() adamStep {
	a.Steps++
	return adamStep{
		rate: float32(a.LearningRate / (1 - power(a.Beta1, a.Steps))), decay: float32(a.LearningRate * a.WeightDecay),
		root: float32(1 / math.Sqrt(1-power(a.Beta2, a.Steps))),
		b1:   float32(a.Beta1), b2: float32(a.Beta2), c1: float32(1 - a.Beta1), c2: float32(1 - a.Beta2),
		eps: float32(a.Epsilon),
	}
}

// apply makes the step on one stretch of the weights, with the gradient times scale.
func (s adamStep) apply(w, grad, mean, square []float32, scale float32) {
	for i, g := range grad {
		g = float32(g * scale)
		m := float32(s.b1*mean[i]) + float32(s.c1*g)
		v := float32(s.b2*square[i]) + float32(float32(s.c2*g)*g)
		mean[i], square[i] = m, v
		root := float32(float32(math.Sqrt(float64(v)))*s.root) + s.eps
		w[i] -= float32(s.decay*w[i]) + float32(s.rate*m)/root
	}
}
