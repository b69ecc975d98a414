package nn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/safetensors"
)

func TestTensorNames(t *testing.T) {
	var got []string
	for _, x := range New(Config{V: 9, D: 32, L: 1, F: 8, Ctx: 4}, 1).Tensors() {
		got = append(got, fmt.Sprint(x.Name, " ", x.DType, x.Shape))
	}
	want := `model.embed_tokens.weight F32[9 32]
model.layers.0.input_layernorm.weight F32[32]
model.layers.0.self_attn.q_proj.weight F32[32 32]
model.layers.0.self_attn.k_proj.weight F32[32 32]
model.layers.0.self_attn.v_proj.weight F32[32 32]
model.layers.0.self_attn.o_proj.weight F32[32 32]
model.layers.0.post_attention_layernorm.weight F32[32]
model.layers.0.mlp.gate_proj.weight F32[8 32]
model.layers.0.mlp.up_proj.weight F32[8 32]
model.layers.0.mlp.down_proj.weight F32[32 8]
model.norm.weight F32[32]`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s", s)
	}
}

// Row o of a written matrix is what output o sums up: [out, in].
func TestTensorLayout(t *testing.T) {
	m := New(Config{V: 9, D: 32, L: 1, F: 8, Ctx: 4}, 1)
	d, f, l := m.D, m.F, m.layers[0]
	for name, place := range map[string]func(out, in int) float32{
		"self_attn.q_proj": func(out, in int) float32 { return l.qkv[in*3*d+out] },
		"self_attn.v_proj": func(out, in int) float32 { return l.qkv[in*3*d+2*d+out] },
		"mlp.up_proj":      func(out, in int) float32 { return l.gateUp[in*2*f+f+out] },
		"mlp.down_proj":    func(out, in int) float32 { return l.down[in*d+out] },
	} {
		for _, x := range m.Tensors() {
			if !strings.Contains(x.Name, name) {
				continue
			}
			v, err := x.Float32s()
			if err != nil {
				t.Fatal(err)
			}
			if v[5*x.Shape[1]+3] != place(5, 3) {
				t.Errorf("%s: element [5, 3] is not the weight from input 3 to output 5", x.Name)
			}
		}
	}
}

func TestTensorsRoundTrip(t *testing.T) {
	m := New(small, 3)
	_, tensors, err := safetensors.Decode(safetensors.Encode(nil, m.Tensors()))
	if err != nil {
		t.Fatal(err)
	}
	other, err := FromTensors(small, tensors)
	if err != nil || other.Hash() != m.Hash() {
		t.Fatalf("%v: the weights changed on their way through a file", err)
	}
	toks := [][]int32{{1, 2, 3}}
	a := m.NewRunner().Forward([]*Seq{m.NewSeq()}, toks)
	b := other.NewRunner().Forward([]*Seq{other.NewSeq()}, toks)
	if LogProb(a, 4) != LogProb(b, 4) {
		t.Error("the loaded model was not packed")
	}
}

func TestSetTensorsRefuses(t *testing.T) {
	for want, change := range map[string]func([]safetensors.Tensor) []safetensors.Tensor{
		"model.norm.weight is missing":    func(x []safetensors.Tensor) []safetensors.Tensor { return x[:len(x)-1] },
		"embed_tokens.weight comes twice": func(x []safetensors.Tensor) []safetensors.Tensor { return append(x, x[0]) },
		"not part of this model": func(x []safetensors.Tensor) []safetensors.Tensor {
			return append(x, safetensors.I64("step", nil, []int64{1}))
		},
		"has the shape [64 50], not": func(x []safetensors.Tensor) []safetensors.Tensor { x[0].Shape = []int{64, 50}; return x },
		"is I32, not F32":            func(x []safetensors.Tensor) []safetensors.Tensor { x[0].DType = "I32"; return x },
	} {
		m := New(small, 3)
		start := m.Hash()
		err := m.SetTensors(change(m.Tensors()))
		if err == nil || !strings.Contains(err.Error(), want) || m.Hash() != start {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := FromTensors(Config{V: 1}, nil); err == nil {
		t.Error("a model without a shape was made")
	}
}
