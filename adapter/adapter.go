// Package adapter merges a LoRA adapter into the weights that it was trained on, for servers and tools that load plain
// models. It reads what peft writes (https://huggingface.co/docs/peft/developer_guides/checkpoint), of the kind that
// longhaul's trainer makes: low-rank pairs on linear layers.
//
//	W' = W + s B A,    s = alpha / r,  or alpha / sqrt(r) with use_rslora
//
// E. Hu and others, LoRA: Low-Rank Adaptation of Large Language Models, 2021, arXiv:2106.09685, section 4.1. W is
// [out, in], B is [out, r], A is [r, in]; the product is taken in float32 and the sum is rounded once to W's own type.
package adapter

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/safetensors"
)

// The files of an adapter.
const (
	ConfigFile  = "adapter_config.json"
	WeightsFile = "adapter_model.safetensors"
)

// config is what adapter_config.json says of the arithmetic. What would change it in a way that is not done here is
// refused.
type config struct {
	Kind       string             `json:"peft_type"`
	Rank       int                `json:"r"`
	Alpha      *float64           `json:"lora_alpha"`
	RankStable bool               `json:"use_rslora"`
	DoRA       bool               `json:"use_dora"`
	FanInOut   bool               `json:"fan_in_fan_out"`
	Ranks      map[string]int     `json:"rank_pattern"`
	Alphas     map[string]float64 `json:"alpha_pattern"`
	Bias       string             `json:"bias"`
	LoRABias   bool               `json:"lora_bias"`
	Saved      []string           `json:"modules_to_save"`
	Repeats    [][]int            `json:"layer_replication"`
	Invocation []int              `json:"alora_invocation_tokens"`
	Initial    any                `json:"init_lora_weights"`
}

// fromBase are the ways to begin an adapter that take its first value off the base's weights: what is added to the others
// is another model.
var fromBase = []string{"pissa", "olora", "corda", "loftq", "lora_ga"}

// takesFromBase says whether the base was changed for the adapter.
func (c config) takesFromBase() bool {
	way, _ := c.Initial.(string)
	way, _, _ = strings.Cut(way, "_niter")
	return slices.Contains(fromBase, strings.ToLower(way))
}

func readConfig(path string) (c config, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("%s: %w", ConfigFile, err)
	}
	return decodeConfig(b)
}

func decodeConfig(b []byte) (c config, err error) {
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", ConfigFile, err)
	}
	for what, found := range map[string]bool{
		"peft_type " + c.Kind: c.Kind != "LORA", "use_dora": c.DoRA, "fan_in_fan_out": c.FanInOut, "bias " + c.Bias: c.Bias != "" && c.Bias != "none",
		"lora_bias": c.LoRABias, fmt.Sprintf("modules_to_save %v", c.Saved): len(c.Saved) > 0,
		"rank_pattern": len(c.Ranks) > 0, "alpha_pattern": len(c.Alphas) > 0, fmt.Sprintf("r %d", c.Rank): c.Rank < 1,
		"no lora_alpha": c.Alpha == nil, "layer_replication": len(c.Repeats) > 0, "alora_invocation_tokens": len(c.Invocation) > 0,
		fmt.Sprintf("init_lora_weights %v", c.Initial): c.takesFromBase(),
	} {
		if found {
			return c, fmt.Errorf("%s: an adapter with %s cannot be merged here; peft's merge_and_unload can", ConfigFile, what)
		}
	}
	return c, nil
}

func (c config) scale() float32 {
	if c.RankStable {
		return float32(*c.Alpha / math.Sqrt(float64(c.Rank)))
	}
	return float32(*c.Alpha / float64(c.Rank))
}

// pair is the two factors of one weight's change.
type pair struct {
	name string // of the weight, as the model has it
	a, b safetensors.Place
}

// pairs finds the factors in the adapter's tensors.
func pairs(tensors []safetensors.Place, rank int) (out []pair, err error) {
	byName := map[string]safetensors.Place{}
	for _, t := range tensors {
		byName[t.Name] = t
	}
	const a, b = ".lora_A.weight", ".lora_B.weight"
	for _, t := range tensors {
		module, isA := strings.CutSuffix(t.Name, a)
		p := pair{name: strings.TrimPrefix(module, "base_model.model.") + ".weight", a: t, b: byName[module+b]}
		if !isA {
			if module, isB := strings.CutSuffix(t.Name, b); !isB || byName[module+a].Name == "" {
				return nil, fmt.Errorf("%s: %s is no factor of a linear layer", WeightsFile, t.Name)
			}
			continue
		}
		if len(p.a.Shape) != 2 || len(p.b.Shape) != 2 || p.a.Shape[0] != rank || p.b.Shape[1] != rank {
			return nil, fmt.Errorf("%s: the factors of %s have shapes %v and %v, not [%d, in] and [out, %d]", WeightsFile, p.name, p.a.Shape, p.b.Shape, rank, rank)
		}
		out = append(out, p)
	}
	return out, nil
}

// Merge replaces the weights in a directory, which holds a model's files and an adapter's, by their sum, and removes the
// adapter's files. It needs memory for a few matrices, whatever the size of the model. It is not atomic: merge in a
// directory that gets its name afterwards.
// Errors name the file and the tensor that is missing, damaged or of a kind that is not merged.
func Merge(dir string) error {
	c, err := readConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return err
	}
	model, err := open(dir)
	if err != nil {
		return err
	}
	defer model.close()
	factors, ok := model[WeightsFile]
	if !ok {
		return fmt.Errorf("there is no %s", WeightsFile)
	}
	changes, err := pairs(factors.tensors, c.Rank)
	if err != nil {
		return err
	}
	for _, p := range changes {
		if err := model.add(factors, p, c.scale()); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := model.sync(); err != nil {
		return err
	}
	for _, name := range []string{WeightsFile, ConfigFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
