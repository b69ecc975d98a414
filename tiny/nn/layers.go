package nn

import (
	"math"

	"github.com/longhaul-rl/longhaul/tiny/kern"
)

const (
	// NormEpsilon is added to the mean square in RMSNorm (`rms_norm_eps` of a Hugging Face config).
	NormEpsilon = 1e-5
	// RopeTheta is the base of the rotary frequencies (`rope_theta`).
	RopeTheta = 10000
)

var attentionScale = float32(1 / math.Sqrt(headSize))

// rmsNorm is y = x * gain / sqrt(mean(x^2) + NormEpsilon) for n rows of width d; it keeps 1/sqrt(...) in
// inverse [n] unless that is nil. B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019.
func rmsNorm(y, x, gain, inverse []float32, n, d int) {
	for t := range n {
		row, out := x[t*d:t*d+d], y[t*d:t*d+d]
		var s0, s1, s2, s3 float32
		for i := 0; i+3 < d; i += 4 {
			v := (*[4]float32)(row[i:])
			s0 += float32(v[0] * v[0])
			s1 += float32(v[1] * v[1])
			s2 += float32(v[2] * v[2])
			s3 += float32(v[3] * v[3])
		}
		r := float32(1 / math.Sqrt(float64((s0+s1+s2+s3)/float32(d)+NormEpsilon)))
		if inverse != nil {
			inverse[t] = r
		}
		kern.Norm(out, row, gain, r)
	}
}

// rotary tabulates cos and sin of position * RopeTheta^(-2i/headSize), each [positions, headSize/2].
// J. Su and others, RoFormer, 2021; pairs are (i, i+headSize/2) as in Hugging Face's rotate_half.
func rotary(positions int) (cos, sin []float32) {
	const half = headSize / 2
	cos, sin = make([]float32, positions*half), make([]float32, positions*half)
	ratio := 1 / math.Sqrt(math.Sqrt(math.Sqrt(math.Sqrt(RopeTheta)))) // RopeTheta^(-1/half), half = 16
	step := 1.0
	for i := range half {
		s1, c1 := sinCos(step)
		s, c := 0.0, 1.0
		for t := range positions {
			cos[t*half+i], sin[t*half+i] = float32(c), float32(s)
			c, s = float64(c*c1)-float64(s*s1), float64(s*c1)+float64(c*s1)
		}
		step = float64(step * ratio)
	}
	return cos, sin
}

// rotate turns the heads' vectors in v, one after the other, by their position's angles.
func (m *Model) rotate(v []float32, position int) {
	const half = headSize / 2
	kern.Rotate(v, m.cos[position*half:], m.sin[position*half:])
}

// softmax is p[:n] = softmax(s[:n] * attentionScale) and zero up to roundUp(n, 16). It overwrites s there.
func softmax(p, s []float32, n int) {
	end := roundUp(n, 16)
	for i := n; i < end; i++ {
		s[i] = float32(math.Inf(-1))
	}
	s, p = s[:end], p[:end]
	inverse := 1 / kern.Exp(p, s, attentionScale, float32(kern.Max(s)*attentionScale))
	kern.Scale(p, p, inverse)
}

// swiGLU is hidden = gate * sigmoid(gate) * up for n rows of [gate | up], each of width f; it keeps
// sigmoid(gate) in sig [n, f]. N. Shazeer, GLU Variants Improve Transformer, 2020.
func swiGLU(hidden, gateUp, sig []float32, n, f int) {
	for t := range n {
		gate, up := gateUp[t*2*f:t*2*f+f], gateUp[t*2*f+f:t*2*f+2*f]
		s, out := sig[t*f:t*f+f], hidden[t*f:t*f+f]
		kern.Exp(s, gate, -1, 0)
		kern.SwiGLU(out, s, gate, up)
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// grow gives a slice of length n in p's memory, with any contents.
func grow(p *[]float32, n int) []float32 {
	if cap(*p) < n {
		*p = make([]float32, n)
	}
	*p = (*p)[:n]
	return *p
}

// rows is the view of a row-major matrix with that row length.
func rows(data []float32, length int) kern.Matrix {
	return kern.Matrix{Data: data, Row: length, Col: 1}
}

// columns is the transposed view of a row-major matrix with that row length.
func columns(data []float32, length int) kern.Matrix {
	return kern.Matrix{Data: data, Row: 1, Col: length}
}
