package nn

import (
	"fmt"
	"math"
	"testing"
)

// llama is Hugging Face's LlamaForCausalLM in float64, written down plainly from its definition: weights
// [out, in], rotate_half, tied output layer. It returns the logits after every token.
type llama struct {
	Config
	w map[string][]float32
}

func (l llama) linear(name string, x []float64, out int) []float64 {
	y := make([]float64, out)
	for o := range y {
		for i, v := range x {
			y[o] += v * float64(l.w[name+".weight"][o*len(x)+i])
		}
	}
	return y
}

func (l llama) norm(name string, x []float64) []float64 {
	var square float64
	for _, v := range x {
		square += v * v
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(square/float64(len(x))+NormEpsilon) * float64(l.w[name+".weight"][i])
	}
	return y
}

// turned is x*cos + rotate_half(x)*sin per head of 32.
func turned(x []float64, position int) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		angle := float64(position) * math.Pow(RopeTheta, -float64(2*(i%16))/32)
		other := -x[i^16]
		if i%32 >= 16 {
			other = x[i^16]
		}
		y[i] = x[i]*math.Cos(angle) + other*math.Sin(angle)
	}
	return y
}

func (l llama) logits(tokens []int32) (out [][]float64) {
	var xs [][]float64
	for _, id := range tokens {
		x := make([]float64, l.D)
		for i := range x {
			x[i] = float64(l.w["model.embed_tokens.weight"][int(id)*l.D+i])
		}
		xs = append(xs, x)
	}
	for n := range l.L {
		at := fmt.Sprintf("model.layers.%d.", n)
		var keys, values [][]float64
		for t, x := range xs {
			h := l.norm(at+"input_layernorm", x)
			q := turned(l.linear(at+"self_attn.q_proj", h, l.D), t)
			keys = append(keys, turned(l.linear(at+"self_attn.k_proj", h, l.D), t))
			values = append(values, l.linear(at+"self_attn.v_proj", h, l.D))
			for i, v := range l.linear(at+"self_attn.o_proj", attention(q, keys, values), l.D) {
				x[i] += v
			}
		}
		for _, x := range xs {
			h := l.norm(at+"post_attention_layernorm", x)
			gate, up := l.linear(at+"mlp.gate_proj", h, l.F), l.linear(at+"mlp.up_proj", h, l.F)
			for i, g := range gate {
				up[i] *= g / (1 + math.Exp(-g))
			}
			for i, v := range l.linear(at+"mlp.down_proj", up, l.D) {
				x[i] += v
			}
		}
	}
	for _, x := range xs {
		out = append(out, l.linear("model.embed_tokens", l.norm("model.norm", x), l.V))
	}
	return out
}

func attention(q []float64, keys, values [][]float64) []float64 {
	y := make([]float64, len(q))
	for h := 0; h < len(q); h += 32 {
		weights, sum := make([]float64, len(keys)), 0.0
		for t, k := range keys {
			var dot float64
			for i := h; i < h+32; i++ {
				dot += q[i] * k[i]
			}
			weights[t] = math.Exp(dot / math.Sqrt(32))
			sum += weights[t]
		}
		for t, v := range values {
			for i := h; i < h+32; i++ {
				y[i] += weights[t] / sum * v[i]
			}
		}
	}
	return y
}

// The written tensors, read as a Llama, give the logits that the sampler gives.
func TestTensorsAreLlama(t *testing.T) {
	m := New(small, 5)
	r := source(8)
	for i := range m.W { // move the gains off 1
		m.W[i] += float32(r.NormFloat64() * 0.05)
	}
	m.Repack()
	ref := llama{Config: small, w: map[string][]float32{}}
	for _, x := range m.Tensors() {
		v, err := x.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		ref.w[x.Name] = v
	}
	tokens := drawn(r, small, 45, true).Tokens
	want := ref.logits(tokens)
	runner, s := m.NewRunner(), m.NewSeq()
	for at, id := range tokens {
		for i, v := range runner.Forward([]*Seq{s}, [][]int32{{id}}) {
			if math.Abs(float64(v)-want[at][i]) > 1e-4 {
				t.Fatalf("logit %d at %d is %v, want %v", i, at, v, want[at][i])
			}
		}
	}
}
