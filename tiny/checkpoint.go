package tiny

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The files of a checkpoint. All but the optimiser's are a Hugging Face directory that transformers opens.
const (
	WeightsFile         = "model.safetensors"
	OptimizerFile       = "optimizer.safetensors"
	ConfigFile          = "config.json"
	TokenizerFile       = "tokenizer.json"
	tokenizerConfigFile = "tokenizer_config.json"
	generationFile      = "generation_config.json"
)

// ModelFiles are the files that DecodeModel reads.
var ModelFiles = []string{WeightsFile, ConfigFile, TokenizerFile}

// EncodeFiles writes a policy and the state of its optimiser: files by name, and what each of them is, for the
// manifest's formats. Equal weights and states give equal bytes. It fails on a model of another vocabulary.
func EncodeFiles(t *nn.Trainer) (files map[string][]byte, formats map[string]string, err error) {
	c := t.Model.Config
	if err := shape(c); err != nil {
		return nil, nil, rl.Errorf(rl.Invalid, "model", "%w", err)
	}
	meta := map[string]string{"format": "pt"} // transformers asks for it
	files = map[string][]byte{
		WeightsFile: safetensors.Encode(meta, t.Model.Tensors()), OptimizerFile: safetensors.Encode(meta, t.State()),
		ConfigFile: indented(configOf(c)), TokenizerFile: slices.Clone(tokenizerFile),
		tokenizerConfigFile: tokenizerConfig(c), generationFile: generationConfig(),
	}
	formats = map[string]string{
		WeightsFile: "safetensors/llama", OptimizerFile: "safetensors/adamw", ConfigFile: "json/transformers",
		TokenizerFile: "json/tokenizers", tokenizerConfigFile: "json/transformers", generationFile: "json/transformers",
	}
	return files, formats, nil
}

// DecodeModel reads a policy from ModelFiles. Errors are *rl.Error of kind Invalid that name the file and, where
// it is one, the tensor or the setting: it takes the models that EncodeFiles writes and no other Llama.
func DecodeModel(files map[string][]byte) (*nn.Model, error) {
	for _, name := range ModelFiles {
		if _, ok := files[name]; !ok {
			return nil, rl.Errorf(rl.Invalid, name, "the file is missing")
		}
	}
	if !bytes.Equal(files[TokenizerFile], tokenizerFile) {
		return nil, rl.Errorf(rl.Invalid, TokenizerFile, "not the tokenizer of this version of longhaul: its token ids would mean something else")
	}
	c, err := decodeConfig(files[ConfigFile])
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, ConfigFile, "%w", err)
	}
	weights := files[WeightsFile]
	if c.NumParams() > len(weights)/4 { // checked before anything of that size is allocated
		return nil, rl.Errorf(rl.Invalid, WeightsFile, "%d bytes are too few for the %d weights of %s", len(weights), c.NumParams(), ConfigFile)
	}
	_, tensors, err := safetensors.Decode(weights)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, WeightsFile, "%w", err)
	}
	m, err := nn.FromTensors(c, tensors)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, WeightsFile, "%w", err)
	}
	for _, w := range m.W {
		if w-w != 0 { // NaN or infinite
			return nil, rl.Errorf(rl.Invalid, WeightsFile, "a weight is %v", w)
		}
	}
	return m, nil
}

// DecodeTrainer reads a policy with its optimiser from ModelFiles and OptimizerFile, to go on training on up to
// that many threads. Learning rate, loss and the like are the caller's to set. Errors are those of DecodeModel.
func DecodeTrainer(files map[string][]byte, threads int) (*nn.Trainer, error) {
	m, err := DecodeModel(files)
	if err != nil {
		return nil, err
	}
	state, ok := files[OptimizerFile]
	if !ok {
		return nil, rl.Errorf(rl.Invalid, OptimizerFile, "the file is missing")
	}
	_, tensors, err := safetensors.Decode(state)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, OptimizerFile, "%w", err)
	}
	t := nn.NewTrainer(m, threads)
	if err := t.SetState(tensors); err != nil {
		return nil, rl.Errorf(rl.Invalid, OptimizerFile, "%w", err)
	}
	return t, nil
}

// decodeConfig reads config.json. Every setting must be what EncodeFiles writes for a model of that shape.
func decodeConfig(b []byte) (nn.Config, error) {
	var got modelConfig
	if err := json.Unmarshal(b, &got); err != nil {
		return nn.Config{}, err
	}
	c := nn.Config{V: got.VocabSize, D: got.HiddenSize, L: got.Layers, F: got.IntermediateSize, Ctx: got.MaxPositions}
	if err := shape(c); err != nil {
		return c, err
	}
	have, want := settings(got), settings(configOf(c))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(have[name], want[name]) {
			return c, fmt.Errorf("%s is %s, not %s", name, have[name], want[name])
		}
	}
	return c, nil
}

// settings is a config by name.
func settings(c modelConfig) (by map[string]json.RawMessage) {
	if err := json.Unmarshal(indented(c), &by); err != nil {
		panic(err) // just written
	}
	return by
}

// shape says why a model cannot be this package's policy.
func shape(c nn.Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.V != Vocab {
		return fmt.Errorf("vocab_size is %d, the tokenizer's %d", c.V, Vocab)
	}
	return nil
}
