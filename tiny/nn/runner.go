package nn

import "github.com/longhaul-rl/longhaul/tiny/kern"

// Seq is the key-value cache of one sequence of up to Ctx tokens. It belongs to the weights it was filled with.
type Seq struct {
	// N is the number of tokens in the cache. Setting it lower drops the tail.
	N int
	// Per layer [heads, roundUp(Ctx,32), headSize]: keys as panels of 32 positions, each [headSize, 32];
	// values position by position.
	keys, values [][]float32
}

// NewSeq makes an empty cache: 2*L*D*Ctx float32.
func (m *Model) NewSeq() *Seq {
	s := &Seq{keys: make([][]float32, m.L), values: make([][]float32, m.L)}
	for i := range s.keys {
		s.keys[i] = make([]float32, m.D*roundUp(m.Ctx, 32))
		s.values[i] = make([]float32, m.D*roundUp(m.Ctx, 32))
	}
	return s
}

// Runner does forward passes with caches. It holds scratch memory: one Runner per goroutine.
type Runner struct {
	m                                          *Model
	x, y, qkv, att, gateUp, hidden, sig, score []float32
	logits                                     []float32
}

// NewRunner makes a Runner of the model.
func (m *Model) NewRunner() *Runner { return &Runner{m: m} }

// Forward appends toks[i] (at least one) to seqs[i] and returns the logits after each sequence's last token:
// [len(seqs), V], valid until the next call. The caller keeps token ids under V and sequences within Ctx.
// Results do not depend on which sequences share a call, or on how a sequence is cut into calls.
func (r *Runner) Forward(seqs []*Seq, toks [][]int32) []float32 {
	m := r.m
	d, f := m.D, m.F
	n := 0
	for _, t := range toks {
		n += len(t)
	}
	x, y, qkv, att := grow(&r.x, n*d), grow(&r.y, n*d), grow(&r.qkv, n*3*d), grow(&r.att, n*d)
	gateUp, hidden, sig := grow(&r.gateUp, n*2*f), grow(&r.hidden, n*f), grow(&r.sig, n*f)
	m.lookUp(x, toks...)
	for l := range m.layers {
		w, p := &m.layers[l], &m.forward[l]
		rmsNorm(y, x, w.norm1, nil, n, d)
		kern.Gemm(rows(qkv, 3*d), rows(y, d), n, &p.qkv, false)
		at := 0
		for i, t := range toks {
			r.attend(l, seqs[i], att[at*d:], qkv[at*3*d:], len(t))
			at += len(t)
		}
		kern.Gemm(rows(x, d), rows(att, d), n, &p.out, true)
		rmsNorm(y, x, w.norm2, nil, n, d)
		kern.Gemm(rows(gateUp, 2*f), rows(y, d), n, &p.gateUp, false)
		swiGLU(hidden, gateUp, sig, n, f)
		kern.Gemm(rows(x, d), rows(hidden, f), n, &p.down, true)
	}
	logits := grow(&r.logits, len(seqs)*m.V)
	last := -1
	for i, t := range toks {
		last += len(t)
		seqs[i].N += len(t)
		rmsNorm(y[i*d:], x[last*d:], m.norm, nil, 1, d)
	}
	kern.Gemm(rows(logits, m.V), rows(y, d), len(seqs), &m.logits, false)
	return logits
}

// lookUp copies the tokens' embeddings to x, row by row.
func (m *Model) lookUp(x []float32, toks ...[]int32) {
	at := 0
	for _, t := range toks {
		for _, id := range t {
			at += copy(x[at:at+m.D], m.embed[int(id)*m.D:])
		}
	}
}

// attend adds n positions to the cache of layer l and writes what they attend to: qkv [n, 3D] -> att [n, D].
func (r *Runner) attend(l int, s *Seq, att, qkv []float32, n int) {
	m := r.m
	d, wide := m.D, roundUp(m.Ctx, 32) // the head at column h has its cache at h*wide
	keys, values := s.keys[l], s.values[l]
	for i := range n {
		at := s.N + i
		m.rotate(qkv[i*3*d:i*3*d+2*d], at) // the queries' heads, then the keys'
		for h := 0; h < d; h += headSize {
			k, v := qkv[i*3*d+d+h:i*3*d+d+h+headSize], qkv[i*3*d+2*d+h:i*3*d+2*d+h+headSize]
			panel := keys[h*wide+at/32*32*headSize+at%32:]
			for c, x := range k {
				panel[c*32] = x
			}
			copy(values[h*wide+at*headSize:], v)
		}
	}
	if n == 1 {
		r.attendOne(keys, values, att, qkv, s.N+1)
		return
	}
	for first := 0; first < n; first += 32 {
		r.attendBlock(keys, values, att[first*d:], qkv[first*3*d:], s.N+first, min(32, n-first))
	}
}

// attendOne is the attention of one position to seen ones, itself the last: the heads side by side.
func (r *Runner) attendOne(keys, values, att, q []float32, seen int) {
	m := r.m
	d, wide := m.D, roundUp(m.Ctx, 32)
	score := grow(&r.score, 2*m.Heads()*wide)
	p := score[m.Heads()*wide:]
	for at := 0; at < seen; at += 32 {
		k := kern.Panels{K: headSize, N: d, Rows: wide, Data: keys[at*headSize:]}
		kern.Each(rows(score[at:], wide), rows(q, headSize), &k)
	}
	for h := range m.Heads() {
		softmax(p[h*wide:], score[h*wide:], seen)
	}
	v := kern.Panels{K: seen, N: d, Rows: wide, Data: values}
	kern.Each(rows(att, headSize), rows(p, wide), &v)
}

// attendBlock is the attention of n positions from first on, up to 32, each to those before it and to itself. As in
// the trainer's, what lies in a position's future has probability 0.
func (r *Runner) attendBlock(keys, values, att, qkv []float32, first, n int) {
	m := r.m
	d, wide, end := m.D, roundUp(m.Ctx, 32), first+n
	score := grow(&r.score, 2*32*wide)
	p := score[32*wide:]
	for h := 0; h < d; h += headSize {
		k := kern.Panels{K: headSize, N: roundUp(end, 32), Rows: headSize, Data: keys[h*wide:]}
		v := kern.Panels{K: end, N: headSize, Rows: end, Data: values[h*wide:]}
		kern.Gemm(rows(score, wide), rows(qkv[h:], 3*d), n, &k, false)
		for i := range n {
			row, seen := p[i*wide:(i+1)*wide], first+i+1
			softmax(row, score[i*wide:], seen)
			if seen < end {
				clear(row[min(roundUp(seen, 16), end):end])
			}
		}
		kern.Gemm(rows(att[h:], d), rows(p, wide), n, &v, false)
	}
}
