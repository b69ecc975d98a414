package nn

import "github.com/longhaul-rl/longhaul/tiny/kern"

// rmsNormBack adds the gradients with respect to x and gain to dx and dGain; inverse is what rmsNorm kept.
func rmsNormBack(dx, dGain, dy, x, gain, inverse []float32, n, d int) {
	for t := 0; t < n; t += 4 {
		count := min(4, n-t)
		dots := normDots(dy[t*d:], x[t*d:], gain, count, d)
		for i := range count {
			at, r := (t+i)*d, inverse[t+i]
			k := float32(float32(float32(dots[i]*r)*r)*r) / float32(d)
			kern.NormBack(dx[at:at+d], dGain, dy[at:], x[at:], gain, r, k)
		}
	}
}

// normDots is sum((dy*gain) * x) of up to 4 rows. Each is one chain of additions: side by side they wait less.
func normDots(dy, x, gain []float32, count, d int) (dots [4]float32) {
	if count < 4 {
		for t := range count {
			for i, g := range gain {
				dots[t] += float32(float32(dy[t*d+i]*g) * x[t*d+i])
			}
		}
		return dots
	}
	y0, y1, y2, y3 := dy[:d], dy[d:2*d], dy[2*d:3*d], dy[3*d:4*d]
	x0, x1, x2, x3 := x[:d], x[d:2*d], x[2*d:3*d], x[3*d:4*d]
	var s0, s1, s2, s3 float32
	for i, g := range gain[:d] {
		s0 += float32(float32(y0[i]*g) * x0[i])
		s1 += float32(float32(y1[i]*g) * x1[i])
		s2 += float32(float32(y2[i]*g) * x2[i])
		s3 += float32(float32(y3[i]*g) * x3[i])
	}
	return [4]float32{s0, s1, s2, s3}
}

// rotateBack is the gradient of rotate: the turn the other way.
func (m *Model) rotateBack(v []float32, position int) {
	const half = headSize / 2
	var back [half]float32
	for i, s := range m.sin[position*half : (position+1)*half] {
		back[i] = -s
	}
	kern.Rotate(v, m.cos[position*half:], back[:])
}

// softmaxBack turns d, the gradient with respect to the probabilities p, into that with respect to the scores
// before attentionScale. Past seen, p is 0.
func softmaxBack(d, p []float32, seen int) {
	var dot float32
	for j, v := range p[:seen] {
		dot += float32(v * d[j])
	}
	for j, v := range p {
		d[j] = float32(float32(v*(d[j]-dot)) * attentionScale)
	}
}

// swiGLUBack is the gradient of swiGLU with respect to [gate | up].
func swiGLUBack(dGateUp, dHidden, gateUp, sig []float32, n, f int) {
	for t := range n {
		gate, up := gateUp[t*2*f:t*2*f+f], gateUp[t*2*f+f:t*2*f+2*f]
		dGate, dUp := dGateUp[t*2*f:t*2*f+f], dGateUp[t*2*f+f:t*2*f+2*f]
		dOut := dHidden[t*f : t*f+f]
		kern.SwiGLUBack(dGate, dUp, dOut, sig[t*f:t*f+f], gate, up)
	}
}
