package nn

// rmsNormBack adds the gradients with respect to x and gain to dx and dGain; inverse is what rmsNorm kept.
func rmsNormBack(dx, dGain, dy, x, gain, inverse []float32, n, d int) {
	for t := range n {
		row, dOut, dIn := x[t*d:t*d+d], dy[t*d:t*d+d], dx[t*d:t*d+d]
		r := inverse[t]
		var dot float32
		for i, v := range row {
			dot += float32(float32(dOut[i]*gain[i]) * v)
			dGain[i] += float32(float32(dOut[i]*v) * r)
		}
		k := float32(float32(float32(dot*r)*r)*r) / float32(d)
		for i, v := range row {
			dIn[i] += float32(float32(dOut[i]*gain[i])*r) - float32(v*k)
		}
	}
}

// rotateBack is the gradient of rotate: the turn the other way.
func (m *Model) rotateBack(v []float32, position int) {
	const half = headSize / 2
	c, s := m.cos[position*half:position*half+half], m.sin[position*half:position*half+half]
	a, b := v[:half], v[half:headSize]
	for i, x := range a {
		y := b[i]
		a[i] = float32(x*c[i]) + float32(y*s[i])
		b[i] = float32(y*c[i]) - float32(x*s[i])
	}
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
		for i, s := range sig[t*f : t*f+f] {
			silu := float32(gate[i] * s)
			dUp[i] = float32(dOut[i] * silu)
			dGate[i] = float32(float32(dOut[i]*up[i]) * (s + float32(silu*(1-s))))
		}
	}
}
