package kern

import "math"

// The functions of this file work element by element, so that their results cannot depend on how wide the machine's
// vectors are: every product and sum is rounded on its own. The *Blocks functions do a first part, a multiple of
// 16, and say how long it was. Slices have the length of the first, or are longer.

// Scale is dst = src*by; dst may be src.
func Scale(dst, src []float32, by float32) {
	n := len(dst)
	src = src[:n]
	for i := scaleBlocks(dst, src, by); i < n; i++ {
		dst[i] = float32(src[i] * by)
	}
}

// Norm is dst = (src*by) * gain.
func Norm(dst, src, gain []float32, by float32) {
	n := len(dst)
	src, gain = src[:n], gain[:n]
	for i := normBlocks(dst, src, gain, by); i < n; i++ {
		dst[i] = float32(float32(src[i]*by) * gain[i])
	}
}

// NormBack is the elementwise part of Norm's gradient: dGain += (dOut*src) * by, dIn += (dOut*gain)*by - src*k.
func NormBack(dIn, dGain, dOut, src, gain []float32, by, k float32) {
	n := len(dIn)
	dGain, dOut, src, gain = dGain[:n], dOut[:n], src[:n], gain[:n]
	for i := normBackBlocks(dIn, dGain, dOut, src, gain, by, k); i < n; i++ {
		dGain[i] += float32(float32(dOut[i]*src[i]) * by)
		dIn[i] += float32(float32(dOut[i]*gain[i])*by) - float32(src[i]*k)
	}
}

// SwiGLU takes e^-gate in sig and leaves the sigmoid there, 1/(1 + e^-gate); dst = (gate*sigmoid) * up.
func SwiGLU(dst, sig, gate, up []float32) {
	n := len(dst)
	sig, gate, up = sig[:n], gate[:n], up[:n]
	for i := swiGLUBlocks(dst, sig, gate, up); i < n; i++ {
		sig[i] = 1 / (1 + sig[i])
		dst[i] = float32(float32(gate[i]*sig[i]) * up[i])
	}
}

// SwiGLUBack is the gradient of SwiGLU, with silu = gate*sig: dUp = dOut*silu, dGate = (dOut*up) * (sig + silu*(1-sig)).
func SwiGLUBack(dGate, dUp, dOut, sig, gate, up []float32) {
	n := len(dGate)
	dUp, dOut, sig, gate, up = dUp[:n], dOut[:n], sig[:n], gate[:n], up[:n]
	for i := swiGLUBackBlocks(dGate, dUp, dOut, sig, gate, up); i < n; i++ {
		s := sig[i]
		silu := float32(gate[i] * s)
		dUp[i] = float32(dOut[i] * silu)
		dGate[i] = float32(float32(dOut[i]*up[i]) * (s + float32(silu*(1-s))))
	}
}

// Rotate turns the pairs (i, i+16) of each 32 elements of v by 16 angles: a*cos - b*sin, b*cos + a*sin.
func Rotate(v, cos, sin []float32) {
	c, s := (*[lanes]float32)(cos), (*[lanes]float32)(sin)
	if rotateBlocks(v, c, s) {
		return
	}
	for ; len(v) >= 2*lanes; v = v[2*lanes:] {
		a, b := (*[lanes]float32)(v), (*[lanes]float32)(v[lanes:])
		for i, x := range a {
			y := b[i]
			a[i] = float32(x*c[i]) - float32(y*s[i])
			b[i] = float32(y*c[i]) + float32(x*s[i])
		}
	}
}

// Max is the greatest element, -Inf if there is none. NaN counts for nothing.
func Max(src []float32) float32 {
	var tops [lanes]float32
	top := float32(math.Inf(-1))
	n := maxBlocks(src, &tops)
	if n > 0 {
		for _, v := range tops {
			if v > top {
				top = v
			}
		}
	}
	for _, v := range src[n:] {
		if v > top {
			top = v
		}
	}
	return top
}
