package adapter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/safetensors"
)

const config = `{"peft_type": "LORA", "layer_replication": null, "init_lora_weights": true, "r": 2, "lora_alpha": 1, "use_rslora": false, "rank_pattern": {}, "alpha_pattern": {}, "bias": "none"}`

// small is a model of one linear layer and one other weight, with an adapter of rank 2 for the layer.
func small(t *testing.T, config string, more ...safetensors.Tensor) (dir string) {
	dir = t.TempDir()
	write(t, dir, "model.safetensors", safetensors.Encode(map[string]string{"format": "pt"}, []safetensors.Tensor{
		safetensors.F32("norm.weight", []int{2}, []float32{7, 8}),
		safetensors.F32("layers.0.q.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}),
	}))
	write(t, dir, adapter.ConfigFile, []byte(config))
	write(t, dir, adapter.WeightsFile, safetensors.Encode(nil, append([]safetensors.Tensor{
		safetensors.F32("base_model.model.layers.0.q.lora_A.weight", []int{2, 3}, []float32{1, 0, 2, 0, 1, 0}),
		safetensors.F32("base_model.model.layers.0.q.lora_B.weight", []int{2, 2}, []float32{1, 0, 2, -4}),
	}, more...)))
	return dir
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		want   []float32
	}{
		// B A is [1 0 2; 2 -4 4]; alpha / r is 1/2.
		"plain": {config, []float32{1.5, 2, 4, 5, 3, 8}},
		// alpha / sqrt(r) with r = 2 and alpha = sqrt(2)
		"rank stable": {strings.NewReplacer("false", "true", `"lora_alpha": 1`, `"lora_alpha": 1.4142135623730951`).Replace(config), []float32{2, 2, 5, 6, 1, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := small(t, c.config)
			if err := adapter.Merge(dir); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			_, tensors, err := safetensors.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			norm, _ := tensors[0].Float32s()
			got, _ := tensors[1].Float32s()
			if !slices.Equal(norm, []float32{7, 8}) || !slices.Equal(got, c.want) {
				t.Errorf("%v %v, not %v", norm, got, c.want)
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 {
				t.Errorf("%v are left", files)
			}
		})
	}
}

// integers is small with weights that are no floating-point numbers.
func integers(t *testing.T) string {
	dir := small(t, config)
	write(t, dir, "model.safetensors", safetensors.Encode(nil, []safetensors.Tensor{safetensors.I32("layers.0.q.weight", []int{2, 3}, make([]int32, 6))}))
	return dir
}

func TestMergeRefuses(t *testing.T) {
	for want, dir := range map[string]string{
		"use_dora":                   small(t, strings.Replace(config, `"use_rslora": false`, `"use_dora": true`, 1)),
		"bias lora_only":             small(t, strings.Replace(config, `"bias": "none"`, `"bias": "lora_only"`, 1)),
		"lora_bias":                  small(t, strings.Replace(config, `"bias"`, `"lora_bias": true, "bias"`, 1)),
		"modules_to_save [lm_head]":  small(t, strings.Replace(config, `"bias"`, `"modules_to_save": ["lm_head"], "bias"`, 1)),
		"rank_pattern":               small(t, strings.Replace(config, `"rank_pattern": {}`, `"rank_pattern": {"q": 4}`, 1)),
		"peft_type IA3":              small(t, strings.Replace(config, "LORA", "IA3", 1)),
		"not [3, in]":                small(t, strings.Replace(config, `"r": 2`, `"r": 3`, 1)),
		"no lora_alpha":              small(t, strings.Replace(config, `"lora_alpha"`, `"alpha"`, 1)),
		"layer_replication":          small(t, strings.Replace(config, `"bias"`, `"layer_replication": [[0, 2], [1, 3]], "bias"`, 1)),
		"alora_invocation_tokens":    small(t, strings.Replace(config, `"bias"`, `"alora_invocation_tokens": [5], "bias"`, 1)),
		"init_lora_weights pissa_ni": small(t, strings.Replace(config, `"bias"`, `"init_lora_weights": "pissa_niter_16", "bias"`, 1)),
		"init_lora_weights olora":    small(t, strings.Replace(config, `"bias"`, `"init_lora_weights": "olora", "bias"`, 1)),
		"adapter_config.json":        small(t, "{"),
		"is no factor":               small(t, config, safetensors.F32("base_model.model.embed.lora_embedding_A", []int{1}, []float32{1})),
		"the model has no such":      small(t, config, safetensors.F32("base_model.model.v.lora_A.weight", []int{2, 1}, []float32{1, 1}), safetensors.F32("base_model.model.v.lora_B.weight", []int{1, 2}, []float32{1, 1})),
		"the factors make [1, 1]":    small(t, config, safetensors.F32("base_model.model.norm.lora_A.weight", []int{2, 1}, []float32{1, 1}), safetensors.F32("base_model.model.norm.lora_B.weight", []int{1, 2}, []float32{1, 1})),
		"shapes [2 1] and []":        small(t, config, safetensors.F32("base_model.model.v.lora_A.weight", []int{2, 1}, []float32{1, 1})),
		"its type is I32; F32, BF16": integers(t),
	} {
		err := adapter.Merge(dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// peft's own merge of an adapter that peft made, in each type that weights are kept in. LONGHAUL_TEST_PYTHON names a
// Python with torch, transformers and peft (make test makes one).
func TestMergeIsPefts(t *testing.T) {
	python := os.Getenv("LONGHAUL_TEST_PYTHON")
	if python == "" {
		t.Skip("LONGHAUL_TEST_PYTHON names no Python with torch, transformers and peft; make test makes one")
	}
	dir := t.TempDir()
	peft := func(step string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), python, "testdata/peft_merge.py", step, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	peft("make")
	for _, dtype := range []string{"float32", "bfloat16", "float16"} {
		if err := adapter.Merge(filepath.Join(dir, dtype, "ours")); err != nil {
			t.Fatal(err)
		}
	}
	peft("compare")
}
