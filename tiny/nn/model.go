package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/tiny/kern"
)

// headSize is the width of an attention head: one panel of kern.
const headSize = kern.Width

// Config is the shape of a model.
type Config struct {
	V   int // vocabulary, tokens
	D   int // width of the residual stream, a multiple of 32
	L   int // layers
	F   int // width of the feed-forward part
	Ctx int // longest sequence, tokens
}

// Heads is the number of attention heads, of 32 columns each.
func (c Config) Heads() int { return c.D / headSize }

// Check says what is wrong with a shape. Shapes come out of files: one that needs more than a laptop's memory
// is an error, not an allocation.
func (c Config) Check() error {
	const most = 1 << 16 // of each, so that NumParams cannot overflow
	for _, v := range []int{c.V, c.D, c.L, c.F, c.Ctx} {
		if v < 1 || v > most {
			return fmt.Errorf("model shape %+v: every number must be in 1..%d", c, most)
		}
	}
	if c.D%headSize != 0 {
		return fmt.Errorf("model width %d is not a multiple of %d", c.D, headSize)
	}
	if n := c.NumParams(); n > 1<<28 {
		return fmt.Errorf("model shape %+v has %d weights: this trainer is for up to %d", c, n, 1<<28)
	}
	return nil
}

// NumParams is the number of weights.
func (c Config) NumParams() int { return c.V*c.D + c.D + c.L*(2*c.D+4*c.D*c.D+3*c.D*c.F) }

// Model is a decoder. All weights lie in one flat slice, so that the optimiser, a checkpoint and the hash are
// one loop each; the fields of params are views into it. Call Repack after a change to W.
type Model struct {
	Config
	W []float32 // [NumParams]
	params
	packed
	cos, sin []float32 // [Ctx, headSize/2], the rotary angles
}

// params are views into a flat slice of weights, or of gradients. Matrices are [in, out], row-major.
type params struct {
	embed  []float32 // [V, D], also the output layer
	norm   []float32 // [D], gain of the last RMSNorm
	layers []layer
}

type layer struct {
	norm1  []float32 // [D]
	qkv    []float32 // [D, 3D]: queries, keys, values, heads side by side
	out    []float32 // [D, D]
	norm2  []float32 // [D]
	gateUp []float32 // [D, 2F]: gate, up
	down   []float32 // [F, D]
}

func (c Config) view(w []float32) (p params) {
	take := func(n int) []float32 {
		part := w[:n:n]
		w = w[n:]
		return part
	}
	d, f := c.D, c.F
	p.embed, p.norm = take(c.V*d), take(d)
	for range c.L {
		p.layers = append(p.layers, layer{take(d), take(d * 3 * d), take(d * d), take(d), take(d * 2 * f), take(f * d)})
	}
	return p
}

// packed are the weights laid out for kern.Gemm, both ways round.
type packed struct {
	forward, backward []packedLayer
	logits            kern.Panels // embed transposed: [D, V]
	embedBack         kern.Panels // [V, D]
}

type packedLayer struct{ qkv, out, gateUp, down kern.Panels }

// blank is a model whose weights are all zero and not packed.
func blank(c Config) *Model {
	m := &Model{Config: c, W: make([]float32, c.NumParams())}
	m.params = c.view(m.W)
	m.cos, m.sin = rotary(c.Ctx)
	m.forward, m.backward = make([]packedLayer, c.L), make([]packedLayer, c.L)
	return m
}

// FromTensors makes a model of that shape out of what Model.Tensors gave. It fails as Config.Check and
// Model.SetTensors do.
func FromTensors(c Config, tensors []safetensors.Tensor) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := blank(c)
	return m, m.SetTensors(tensors)
}

// Repack refreshes the packed copies after a change of the weights. No Runner or Trainer may run meanwhile.
func (m *Model) Repack() {
	d, f := m.D, m.F
	both := func(ahead, back *kern.Panels, w []float32, in, out int) {
		ahead.Pack(kern.Matrix{Data: w, Row: out, Col: 1}, in, out)
		back.Pack(kern.Matrix{Data: w, Row: 1, Col: out}, out, in)
	}
	for i, l := range m.layers {
		a, b := &m.forward[i], &m.backward[i]
		both(&a.qkv, &b.qkv, l.qkv, d, 3*d)
		both(&a.out, &b.out, l.out, d, d)
		both(&a.gateUp, &b.gateUp, l.gateUp, d, 2*f)
		both(&a.down, &b.down, l.down, f, d)
	}
	both(&m.embedBack, &m.logits, m.embed, m.V, d)
}

// Hash is the SHA-256, in hex, of the weights as little-endian float32 in the order of W.
func (m *Model) Hash() string {
	h, b := sha256.New(), make([]byte, 0, 4096)
	for part := range slices.Chunk(m.W, cap(b)/4) {
		b = b[:0]
		for _, v := range part {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}
