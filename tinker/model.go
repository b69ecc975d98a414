package tinker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Base is what a LoRA adapter is made on.
type Base struct {
	Model string `json:"base_model"` // as the service names it
	Rank  int    `json:"lora_rank"`
	Seed  uint64 `json:"seed"` // of the initial weights; at most 31 bits are sent
}

// Model is an adapter with its optimiser, in an engine's memory. Its calls are made one after another, by one goroutine.
type Model struct {
	session *session
	id      string
}

// create makes a new adapter. Its slot in the engine may hold gradients of a model that was unloaded before (SkyRL keeps them).
func (s *session) create(ctx context.Context, b Base) (*Model, error) {
	in := map[string]any{"session_id": s.id, "base_model": b.Model, "model_role": "policy", "lora_config": map[string]any{"rank": b.Rank, "seed": seed31(b.Seed)}}
	var made started
	if err := s.client.start(ctx, "create_model", in, &made); err != nil {
		return nil, err
	}
	var as struct {
		Base string `json:"base_model"`
	}
	if err := s.client.await(ctx, "create_model", made.Request, &as); err != nil {
		return nil, err
	}
	m := &Model{s, made.Model}
	if as.Base != "" && as.Base != b.Model { // SkyRL takes every name, and uses its own model
		m.unload(ctx)
		return nil, rl.Errorf(rl.Refused, s.client.at, "create_model: the service has the base model %q, not %q", as.Base, b.Model)
	}
	return m, nil
}

// load restores weights and optimiser, and forgets gradients, whosever they are.
func (m *Model) load(ctx context.Context, path string) error {
	if _, err := m.Step(ctx, Adam{Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8}); err != nil { // at a rate of 0: it only uses the gradients up
		return err
	}
	return m.restore(ctx, path)
}

// restore is load for a model that is not trained.
func (m *Model) restore(ctx context.Context, path string) error {
	in := map[string]any{"model_id": m.id, "path": path, "optimizer": true}
	return m.session.client.call(ctx, "load_weights", in, &struct{}{})
}

// Loss is one of the service's: "ppo" and "cispo" hold the ratio between Low and High.
type Loss struct {
	Name      string
	Low, High float64
}

// Row is one sequence. Inputs[t] is the token that Targets[t] comes after; all slices have one length.
type Row struct {
	Inputs, Targets []int32
	Mask            []bool    // true where a target has a loss
	LogProbs        []float32 // of the targets when they were sampled; 0 where there is no loss
	Advantages      []float64 // 0 where there is no loss
}

// Shifted is a sample as a Row: a target is the token after its input, so the first token is never one.
func Shifted(s rl.Sample) Row {
	n := len(s.Tokens) - 1
	r := Row{Inputs: s.Tokens[:n], Targets: s.Tokens[1:], Mask: s.LossMask[1:], LogProbs: make([]float32, n), Advantages: make([]float64, n)}
	for t, trained := range r.Mask {
		if trained {
			r.LogProbs[t], r.Advantages[t] = s.LogProbs[t+1], float64(s.Advantages[t+1])
		}
	}
	return r
}

type tensor struct {
	Data any `json:"data"`
}

func (r Row) datum() map[string]any {
	weights := make([]float32, len(r.Mask))
	for t, trained := range r.Mask {
		if trained {
			weights[t] = 1
		}
	}
	return map[string]any{
		"model_input": prompt(r.Inputs),
		"loss_fn_inputs": map[string]tensor{
			"target_tokens": {r.Targets}, "weights": {weights}, "logprobs": {r.LogProbs}, "advantages": {r.Advantages},
		},
	}
}

// prompt is tokens as a ModelInput.
func prompt(tokens []int32) map[string]any {
	return map[string]any{"chunks": []any{map[string]any{"type": "encoded_text", "tokens": tokens}}}
}

// passed is the result of a row.
type passed struct {
	LogProbs struct {
		Data numbers[float64] `json:"data"`
	} `json:"logprobs"`
}

// numbers are a service's. Where a model has come to NaN it writes null, which is no 0.
type numbers[F float32 | float64] []F

func (n *numbers[F]) UnmarshalJSON(b []byte) error {
	var all []*F
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	*n = make([]F, len(all))
	for i, v := range all {
		if v == nil {
			return fmt.Errorf("number %d of %d is null", i, len(all))
		}
		(*n)[i] = *v
	}
	return nil
}

// ForwardBackward adds the rows' gradient to what is waiting for the next Step. It returns each target's natural
// log-probability under the model as it is, one slice a row.
func (m *Model) ForwardBackward(ctx context.Context, l Loss, rows []Row) ([][]float64, error) {
	data := make([]map[string]any, len(rows))
	for i, r := range rows {
		data[i] = r.datum()
	}
	in := map[string]any{"model_id": m.id, "forward_backward_input": map[string]any{
		"data": data, "loss_fn": l.Name, "loss_fn_config": map[string]float64{"clip_low_threshold": l.Low, "clip_high_threshold": l.High},
	}}
	var out struct {
		Rows []passed `json:"loss_fn_outputs"`
	}
	c := m.session.client
	if err := c.call(ctx, "forward_backward", in, &out); err != nil {
		return nil, err
	}
	if len(out.Rows) != len(rows) {
		return nil, rl.Errorf(rl.Invalid, c.at, "forward_backward: %d rows were sent, %d came back", len(rows), len(out.Rows))
	}
	found := make([][]float64, len(rows))
	for i, r := range out.Rows {
		found[i] = r.LogProbs.Data
		if len(found[i]) != len(rows[i].Targets) {
			return nil, rl.Errorf(rl.Invalid, c.at, "forward_backward: row %d has %d targets, %d log-probabilities came back", i, len(rows[i].Targets), len(found[i]))
		}
	}
	return found, nil
}

// Adam is a step of AdamW.
type Adam struct {
	LearningRate float64 `json:"learning_rate"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
	Epsilon      float64 `json:"eps"`
	WeightDecay  float64 `json:"weight_decay"`
}

// Step applies the gradient and returns its norm: 0 where the service does not say.
func (m *Model) Step(ctx context.Context, a Adam) (norm float64, err error) {
	var out struct {
		Metrics map[string]float64 `json:"metrics"`
	}
	err = m.session.client.call(ctx, "optim_step", map[string]any{"model_id": m.id, "adam_params": a}, &out)
	return out.Metrics["skyrl.ai/grad_norm"], err
}

// names is how many names a save tries: one whose answer was lost, or whose save was never ended, is taken for good.
const names = 5

// save writes the model under a name that is its own, and returns its path. Saving changes nothing in the model, so an answer
// that is lost costs a name and no more.
func (m *Model) save(ctx context.Context, call, name string) (path string, err error) {
	for i := 1; i <= names; i++ {
		try := name
		if i > 1 {
			try = fmt.Sprintf("%s-%d", name, i)
		}
		var out struct {
			Path string `json:"path"`
		}
		err = m.session.client.call(ctx, call, map[string]any{"model_id": m.id, "path": try}, &out)
		switch kind := rl.KindOf(err); {
		case err == nil && out.Path == "":
			return "", rl.Errorf(rl.Invalid, m.session.client.at, "%s: the answer names no path", call)
		case err == nil:
			return out.Path, nil
		case ctx.Err() != nil || kind != rl.Conflict && kind != rl.Unavailable:
			return "", err
		}
	}
	return "", err
}

// unload frees the model's place in the engine. It is a courtesy: a session that no longer beats frees it later.
func (m *Model) unload(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	m.session.client.post(ctx, 5*time.Second, "unload_model", map[string]string{"model_id": m.id}, &struct{}{})
}

// seed31 is a seed as engines take it.
func seed31(seed uint64) uint64 { return seed & (1<<31 - 1) }
