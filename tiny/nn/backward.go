package nn

import "github.com/longhaul-rl/longhaul/tiny/kern"

// backward adds the gradient of every weight to g (or writes it, when g is fresh). It starts from the derivatives of the logits of the trained
// positions (in t.logits) and the activations that forward and head left.
func (t *tape) backward(g *lane, tokens []int32, at []int) {
	m := t.m
	n, d := len(tokens), m.D
	dx := grow(&t.dx, n*d)
	clear(dx)
	dNorm := grow(&t.dNorm, n*d)
	t.acc = !g.fresh
	t.outer(g.embed, t.logits, m.V, t.normed, d, len(at))
	kern.Gemm(rows(dNorm, d), rows(t.logits, m.V), len(at), &m.embedBack, false)
	for i, p := range at {
		rmsNormBack(dx[(p-1)*d:], g.norm, dNorm[i*d:], t.x[(p-1)*d:], m.norm, t.inverse[i:], 1, d)
	}
	for l := m.L - 1; l >= 0; l-- {
		t.feedForwardBack(l, &g.layers[l], n)
		t.attentionBack(l, &g.layers[l], n)
	}
	for i, id := range tokens {
		ge := g.embed[int(id)*d : int(id)*d+d]
		for c, v := range dx[i*d : i*d+d] {
			ge[c] += v
		}
	}
}

// outer adds a weight's gradient: dW [in, out] += x^T [in, n] * dy [n, out]; in a fresh lane it writes it.
func (t *tape) outer(dW, x []float32, in int, dy []float32, out, n int) {
	t.pack.Pack(rows(dy, out), n, out)
	kern.Gemm(rows(dW, out), columns(x, in), in, &t.pack, t.acc)
}

func (t *tape) feedForwardBack(l int, g *layer, n int) {
	m, r := t.m, &t.layers[l]
	d, f := m.D, m.F
	dHidden, dGateUp := grow(&t.dHidden, n*f), grow(&t.dGateUp, n*2*f)
	t.outer(g.down, r.hidden, f, t.dx, d, n)
	kern.Gemm(rows(dHidden, f), rows(t.dx, d), n, &m.backward[l].down, false)
	swiGLUBack(dGateUp, dHidden, r.gateUp, r.sig, n, f)
	t.outer(g.gateUp, r.normed2, d, dGateUp, 2*f, n)
	kern.Gemm(rows(t.dNorm, d), rows(dGateUp, 2*f), n, &m.backward[l].gateUp, false)
	rmsNormBack(t.dx, g.norm2, t.dNorm, r.x1, m.layers[l].norm2, r.inverse2, n, d)
}

func (t *tape) attentionBack(l int, g *layer, n int) {
	m, r := t.m, &t.layers[l]
	d := m.D
	dQKV, dAtt := grow(&t.dQKV, n*3*d), grow(&t.dAtt, n*d)
	t.outer(g.out, r.att, d, t.dx, d, n)
	kern.Gemm(rows(dAtt, d), rows(t.dx, d), n, &m.backward[l].out, false)
	for h := 0; h < d; h += headSize {
		t.headBack(r, h, n)
	}
	for i := range n {
		m.rotateBack(dQKV[i*3*d:i*3*d+2*d], i) // the queries' heads, then the keys'
	}
	t.outer(g.qkv, r.normed1, d, dQKV, 3*d, n)
	kern.Gemm(rows(t.dNorm, d), rows(dQKV, 3*d), n, &m.backward[l].qkv, false)
	rmsNormBack(t.dx, g.norm1, t.dNorm, r.x, m.layers[l].norm1, r.inverse1, n, d)
}

// headBack is the backward pass of attention for the head at column h, by blocks of 32 as in attend:
// dP = dAtt V^T; dScore = P * (dP - sum(P*dP)) * scale; dQ = dScore K; dK = dScore^T Q; dV = P^T dAtt.
func (t *tape) headBack(r *record, h, n int) {
	d, wide := t.m.D, roundUp(n, 32)
	size := wide * headSize
	scratch := grow(&t.heads, 4*size)
	valuesT := kern.Panels{K: headSize, Rows: headSize, Data: scratch[:size]}
	keys, queries, dOut := scratch[size:2*size], scratch[2*size:3*size], scratch[3*size:]
	panels(valuesT.Data, r.qkv[2*d+h:], 3*d, n)
	block(keys, r.qkv[d+h:], 3*d, n)
	block(queries, r.qkv[h:], 3*d, n)
	block(dOut, t.dAtt[h:], d, n)
	probs, dScore := r.probs[h/headSize*n*wide:], grow(&t.dScore, n*wide)
	for first := 0; first < n; first += 32 {
		count, end := min(32, n-first), first+32
		valuesT.N = end
		kern.Gemm(rows(dScore[first*wide:], wide), rows(t.dAtt[first*d+h:], d), count, &valuesT, false)
		for i := first; i < first+count; i++ {
			softmaxBack(dScore[i*wide:i*wide+end], probs[i*wide:i*wide+end], i+1)
		}
		k := kern.Panels{K: min(end, n), N: headSize, Rows: n, Data: keys}
		kern.Gemm(rows(t.dQKV[first*3*d+h:], 3*d), rows(dScore[first*wide:], wide), count, &k, false)
	}
	for first := 0; first < n; first += 32 { // keys and values in first..: seen by the queries from first on
		count := min(32, n-first)
		q := kern.Panels{K: n - first, N: headSize, Rows: n - first, Data: queries[first*headSize:]}
		o := kern.Panels{K: n - first, N: headSize, Rows: n - first, Data: dOut[first*headSize:]}
		kern.Gemm(rows(t.dQKV[first*3*d+d+h:], 3*d), columns(dScore[first*wide+first:], wide), count, &q, false)
		kern.Gemm(rows(t.dQKV[first*3*d+2*d+h:], 3*d), columns(probs[first*wide+first:], wide), count, &o, false)
	}
}
