package nn

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/safetensors"
)

// slot is where a named tensor of the Hugging Face Llama layout lies in params: columns from..from+width of a
// row-major matrix w, whose rows have length row. Hugging Face stores matrices as [out, in], params as [in, out].
type slot struct {
	name      string
	shape     []int
	w         []float32
	from, row int
	transpose bool
}

// slots lists the tensors of a model, in the order in which they are written. The output layer is the
// embedding (`tie_word_embeddings`), so there is no lm_head.
func (c Config) slots(p params) []slot {
	d, f := c.D, c.F
	matrix := func(name string, w []float32, from, row, out, in int) slot {
		return slot{name, []int{out, in}, w, from, row, true}
	}
	vector := func(name string, w []float32) slot { return slot{name, []int{d}, w, 0, d, false} }
	all := []slot{{"model.embed_tokens.weight", []int{c.V, d}, p.embed, 0, d, false}}
	for i, l := range p.layers {
		at := fmt.Sprintf("model.layers.%d.", i)
		all = append(all,
			vector(at+"input_layernorm.weight", l.norm1),
			matrix(at+"self_attn.q_proj.weight", l.qkv, 0, 3*d, d, d),
			matrix(at+"self_attn.k_proj.weight", l.qkv, d, 3*d, d, d),
			matrix(at+"self_attn.v_proj.weight", l.qkv, 2*d, 3*d, d, d),
			matrix(at+"self_attn.o_proj.weight", l.out, 0, d, d, d),
			vector(at+"post_attention_layernorm.weight", l.norm2),
			matrix(at+"mlp.gate_proj.weight", l.gateUp, 0, 2*f, f, d),
			matrix(at+"mlp.up_proj.weight", l.gateUp, f, 2*f, f, d),
			matrix(at+"mlp.down_proj.weight", l.down, 0, d, d, f),
		)
	}
	return append(all, vector("model.norm.weight", p.norm))
}

// each calls f with every element's place in w, in the order of the tensor's data.
func (s slot) each(f func(at int)) {
	if !s.transpose {
		for i := range s.w {
			f(i)
		}
		return
	}
	for out := range s.shape[0] {
		for in := range s.shape[1] {
			f(in*s.row + s.from + out)
		}
	}
}

// pack writes a flat slice, in the order of Model.W, as tensors whose names begin with prefix.
func (c Config) pack(prefix string, flat []float32) []safetensors.Tensor {
	var out []safetensors.Tensor
	for _, s := range c.slots(c.view(flat)) {
		b := make([]byte, 0, 4*s.shape[0]*s.shape[len(s.shape)-1])
		s.each(func(at int) { b = binary.LittleEndian.AppendUint32(b, math.Float32bits(s.w[at])) })
		out = append(out, safetensors.Tensor{Name: prefix + s.name, DType: "F32", Shape: s.shape, Data: b})
	}
	return out
}

// unpack is the reverse of pack. It takes the tensors it uses out of from, and fails when one is missing or
// does not have the shape; flat is then partly written.
func (c Config) unpack(prefix string, flat []float32, from map[string]safetensors.Tensor) error {
	for _, s := range c.slots(c.view(flat)) {
		t, ok := from[prefix+s.name]
		if !ok {
			return fmt.Errorf("tensor %s%s is missing", prefix, s.name)
		}
		if !slices.Equal(t.Shape, s.shape) {
			return fmt.Errorf("tensor %s has the shape %v, not %v", t.Name, t.Shape, s.shape)
		}
		v, err := t.Float32s()
		if err != nil {
			return err
		}
		i := 0
		s.each(func(at int) { s.w[at], i = v[i], i+1 })
		delete(from, t.Name)
	}
	return nil
}

// byName indexes tensors; a name that comes twice is an error.
func byName(tensors []safetensors.Tensor) (map[string]safetensors.Tensor, error) {
	m := make(map[string]safetensors.Tensor, len(tensors))
	for _, t := range tensors {
		if _, twice := m[t.Name]; twice {
			return nil, fmt.Errorf("tensor %s comes twice", t.Name)
		}
		m[t.Name] = t
	}
	return m, nil
}

// noneLeft fails when a tensor was not used.
func noneLeft(from map[string]safetensors.Tensor) error {
	if len(from) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(from))
	return fmt.Errorf("%d tensors are not part of this model, the first is %s", len(from), names[0])
}

// Tensors gives the weights under the names and in the layout of a Hugging Face LlamaForCausalLM with
// tie_word_embeddings, F32, matrices as [out, in]. A rotary embedding of the rotate-half kind needs no
// reordering.
func (m *Model) Tensors() []safetensors.Tensor { return m.pack("", m.W) }

// SetTensors replaces the weights by what Tensors gave, in any order. It fails, and changes nothing, when a
// tensor is missing, unknown, named twice, or not F32 of the shape the model's Config asks for.
func (m *Model) SetTensors(tensors []safetensors.Tensor) error {
	from, err := byName(tensors)
	if err != nil {
		return err
	}
	w := make([]float32, len(m.W))
	if err := m.unpack("", w, from); err != nil {
		return err
	}
	if err := noneLeft(from); err != nil {
		return err
	}
	copy(m.W, w)
	m.Repack()
	return nil
}
