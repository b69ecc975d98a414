package nn

import "github.com/longhaul-rl/longhaul/tiny/kern"

// tape is what one goroutine needs to train on one sequence after the other: the activations of a forward pass
// and scratch for the backward pass.
type tape struct {
	m      *Model
	layers []record
	x      []float32 // [T, D] residual stream, after forward that of the last layer

	// the head, for the trained positions only
	normed, inverse, logits, probs []float32

	dx, dNorm, dQKV, dAtt, dGateUp, dHidden, dScore []float32
	score, heads                                    []float32
	pack                                            kern.Panels
	acc                                             bool // what outer does
}

// record is what the backward pass of a layer needs, in the order in which it is computed.
type record struct {
	x, normed1, inverse1, qkv []float32
	probs                     []float32 // [heads, T, roundUp(T,32)]: what attends to what
	att                       []float32
	x1, normed2, inverse2     []float32
	gateUp, sig, hidden       []float32
}

func newTape(m *Model) *tape { return &tape{m: m, layers: make([]record, m.L)} }

// forward runs the model over the tokens and keeps the activations. Every element is computed by the same
// chain of operations as in Runner.Forward.
func (t *tape) forward(tokens []int32) {
	m := t.m
	n, d, f := len(tokens), m.D, m.F
	x := grow(&t.x, n*d)
	m.lookUp(x, tokens)
	for l := range m.layers {
		r, w, p := &t.layers[l], &m.layers[l], &m.forward[l]
		copy(grow(&r.x, n*d), x)
		rmsNorm(grow(&r.normed1, n*d), x, w.norm1, grow(&r.inverse1, n), n, d)
		kern.Gemm(rows(grow(&r.qkv, n*3*d), 3*d), rows(r.normed1, d), n, &p.qkv, false)
		for i := range n {
			m.rotate(r.qkv[i*3*d:i*3*d+2*d], i) // the queries' heads, then the keys'
		}
		t.attend(r, n)
		kern.Gemm(rows(x, d), rows(r.att, d), n, &p.out, true)
		copy(grow(&r.x1, n*d), x)
		rmsNorm(grow(&r.normed2, n*d), x, w.norm2, grow(&r.inverse2, n), n, d)
		kern.Gemm(rows(grow(&r.gateUp, n*2*f), 2*f), rows(r.normed2, d), n, &p.gateUp, false)
		swiGLU(grow(&r.hidden, n*f), r.gateUp, grow(&r.sig, n*f), n, f)
		kern.Gemm(rows(x, d), rows(r.hidden, f), n, &p.down, true)
	}
}

// attend is causal attention over n positions: qkv -> probs, att. It goes by blocks of 32 queries; a block
// multiplies with all keys up to its own end, and what lies in the future has probability 0.
func (t *tape) attend(r *record, n int) {
	d, wide := t.m.D, roundUp(n, 32)
	grow(&r.att, n*d)
	grow(&r.probs, d/headSize*n*wide)
	score := grow(&t.score, 32*wide)
	scratch := grow(&t.heads, 2*wide*headSize)
	keys := kern.Panels{K: headSize, Rows: headSize, Data: scratch[:wide*headSize]}
	values := kern.Panels{N: headSize, Rows: n, Data: scratch[wide*headSize:]}
	for h := 0; h < d; h += headSize {
		panels(keys.Data, r.qkv[d+h:], 3*d, n)
		block(values.Data, r.qkv[2*d+h:], 3*d, n)
		probs := r.probs[h/headSize*n*wide:]
		for first := 0; first < n; first += 32 {
			count, end := min(32, n-first), first+32
			keys.N, values.K = end, min(end, n)
			kern.Gemm(rows(score, wide), rows(r.qkv[first*3*d+h:], 3*d), count, &keys, false)
			for i := range count {
				seen := first + i + 1
				p := probs[(first+i)*wide : (first+i+1)*wide]
				softmax(p, score[i*wide:], seen)
				clear(p[roundUp(seen, 16):end])
			}
			kern.Gemm(rows(r.att[first*d+h:], d), rows(probs[first*wide:], wide), count, &values, false)
		}
	}
}

// block copies a head's columns of a row-major matrix: [n, row] -> [n, headSize].
func block(dst, src []float32, row, n int) {
	for t := range n {
		copy(dst[t*headSize:(t+1)*headSize], src[t*row:])
	}
}

// panels is block transposed: panels of 32 positions, each [headSize, 32], the last filled up with zeros.
func panels(dst, src []float32, row, n int) {
	clear(dst[:roundUp(n, 32)*headSize])
	for t := range n {
		panel := dst[t/32*headSize*32+t%32:]
		for c, v := range src[t*row : t*row+headSize] {
			panel[c*32] = v
		}
	}
}
