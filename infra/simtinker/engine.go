package simtinker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"math"

	"github.com/longhaul-rl/longhaul/safetensors"
)

// State is what is saved of a model: its weight, 1 at first, and the momentum of its optimiser.
type State struct{ Weight, Momentum float64 }

// engine is what is in memory.
type engine struct {
	models map[string]*loaded
	slots  [8]float64 // gradients
}

type loaded struct {
	slot int
	State
}

// work does a call and gives its result.
func (e *engine) work(what string, c call, saves map[string]*State) (int, any) {
	m := e.models[c.Model]
	if m == nil && what != "create_model" && what != "unload_model" {
		return 400, detail("Model " + c.Model + " not loaded")
	}
	switch what {
	case "create_model":
		return e.create(c.Model)
	case "unload_model":
		delete(e.models, c.Model)
	case "forward_backward":
		return e.pass(m, c)
	case "optim_step":
		return e.step(m, c)
	case "load_weights":
		m.State = *saves[c.Path]
	case "save_weights", "save_weights_for_sampler":
		saves[c.Path] = &State{m.Weight, m.Momentum}
		path := "tinker://" + c.Path
		if what != "save_weights" {
			path = "tinker://" + c.Model + c.Path[len(c.Model)+len("/sampler"):]
		}
		return 200, map[string]string{"path": path}
	case "asample":
		return 200, map[string]any{"sequences": []any{map[string]any{"tokens": []int{5, 4}, "logprobs": []float64{-saves[c.Path].Weight, -1}, "stop_reason": "stop"}}}
	}
	return 200, struct{}{}
}

func (e *engine) create(id string) (int, any) {
	var taken [len(e.slots)]bool
	for _, m := range e.models {
		taken[m.slot] = true
	}
	for slot := range e.slots {
		if !taken[slot] {
			e.models[id] = &loaded{slot, State{Weight: 1}}
			return 200, map[string]string{"base_model": Base}
		}
	}
	return 400, detail("Maximum number of LoRA adapters (8) reached")
}

// pass adds the advantages up: the gradient of the one weight, which is less every target's log-probability.
func (e *engine) pass(m *loaded, c call) (int, any) {
	rows := make([]any, len(c.Input.Data))
	for i, d := range c.Input.Data {
		found := make([]float64, len(d.Inputs["target_tokens"].Data))
		for t, w := range d.Inputs["weights"].Data {
			e.slots[m.slot] -= w * d.Inputs["advantages"].Data[t]
			found[t] = -m.Weight
		}
		rows[i] = map[string]any{"logprobs": map[string]any{"data": found}}
	}
	return 200, map[string]any{"loss_fn_outputs": rows}
}

// step is gradient descent with momentum.
func (e *engine) step(m *loaded, c call) (int, any) {
	gradient := e.slots[m.slot]
	m.Momentum = c.Adam.Beta1*m.Momentum + gradient
	m.Weight -= c.Adam.LearningRate * m.Momentum
	e.slots[m.slot] = 0
	return 200, map[string]any{"metrics": map[string]float64{"skyrl.ai/grad_norm": math.Abs(gradient)}}
}

// archive is an adapter as peft writes it, packed.
func archive(s State) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{"./adapter_config.json", []byte(`{"peft_type": "LORA", "r": 8, "target_modules": null}`)},
		{"./adapter_model.safetensors", safetensors.Encode(nil, []safetensors.Tensor{
			safetensors.F32("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", []int{1}, []float32{float32(s.Weight)}),
		})},
	} {
		t.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o644}) // into memory: it cannot fail
		t.Write(f.content)
	}
	t.Close()
	z.Close()
	return b.Bytes()
}
