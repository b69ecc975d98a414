package tiny

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// trained is a trainer after a step, so that its optimiser's state is not all zero.
func trained(t testing.TB) *nn.Trainer {
	trainer := nn.NewTrainer(smallModel(1), 1)
	step(t, trainer)
	return trainer
}

func step(t testing.TB, trainer *nn.Trainer) {
	row := EncodeDemonstration(rl.Demonstration{Imitate: []bool{false, true},
		Messages: []rl.Message{{Role: rl.User, Content: "where is order 48?"}, {Role: rl.Assistant, Content: "find 48"}}}, nil)
	if _, err := trainer.Update([]*nn.Example{row}); err != nil {
		t.Fatal(err)
	}
}

func encode(t testing.TB, trainer *nn.Trainer) map[string][]byte {
	files, formats, err := EncodeFiles(trainer)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(formats))) {
		t.Fatalf("formats %v", formats)
	}
	return files
}

// A trainer that was written and read goes on as if it had not been.
func TestCheckpointRoundTrip(t *testing.T) {
	a := trained(t)
	files := encode(t, a)
	b, err := DecodeTrainer(files, 2)
	if err != nil {
		t.Fatal(err)
	}
	step(t, a)
	b.LearningRate = a.LearningRate
	step(t, b)
	if a.Model.Hash() != b.Model.Hash() || a.Steps != 2 || b.Steps != 2 {
		t.Fatal("the weights part after one step")
	}
	again := encode(t, b)
	for name, content := range encode(t, a) {
		if !bytes.Equal(again[name], content) {
			t.Errorf("%s: equal trainers, different bytes", name)
		}
	}
}

func TestHuggingFaceConfig(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal(encode(t, trained(t))[ConfigFile], &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"tie_word_embeddings": true, "rms_norm_eps": 1e-5, "rope_theta": 10000., "head_dim": 32., "num_key_value_heads": 1.,
		"num_attention_heads": 1., "hidden_size": 32., "intermediate_size": 64., "num_hidden_layers": 2., "vocab_size": 645.,
		"max_position_embeddings": 256., "model_type": "llama", "hidden_act": "silu", "bos_token_id": 256., "eos_token_id": 260.,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// Every token id has a name of its own in tokenizer.json, and the pieces are cut longest first.
func TestTokenizerFile(t *testing.T) {
	var f struct {
		Model        struct{ Vocab map[string]int }
		PreTokenizer struct {
			Pretokenizers []struct{ Pattern struct{ Regex string } }
		} `json:"pre_tokenizer"`
	}
	if err := json.Unmarshal(tokenizerFile, &f); err != nil {
		t.Fatal(err)
	}
	ids := slices.Sorted(maps.Values(f.Model.Vocab))
	if len(ids) != Vocab || ids[0] != 0 || ids[Vocab-1] != Vocab-1 || len(slices.Compact(ids)) != Vocab {
		t.Errorf("%d names for the ids %d to %d", len(ids), ids[0], ids[len(ids)-1])
	}
	for name, id := range map[string]int{"a": 'a', "Ġ": ' ', "Ċ": '\n', "Ń": 0xad, "ÿ": 0xff, "<|end|>": tokenEnd, "whereĠisĠorderĠ": firstPiece} {
		if got, ok := f.Model.Vocab[name]; !ok || got != id {
			t.Errorf("%s is %d, want %d", name, got, id)
		}
	}
	cut := strings.Split(f.PreTokenizer.Pretokenizers[0].Pattern.Regex, "|")
	if len(cut) != len(pieces)+1 || cut[0] != "where is order " || cut[len(cut)-1] != `[\s\S]` {
		t.Error(cut)
	}
}

func TestBadCheckpoints(t *testing.T) {
	good := encode(t, trained(t))
	config := func(old, new string) []byte {
		return bytes.Replace(good[ConfigFile], []byte(old), []byte(new), 1)
	}
	tensors := func(name string, change func([]safetensors.Tensor) []safetensors.Tensor) []byte {
		_, ts, err := safetensors.Decode(bytes.Clone(good[name]))
		if err != nil {
			t.Fatal(err)
		}
		return safetensors.Encode(nil, change(ts))
	}
	type bad struct {
		file    string
		content []byte
		say     string
	}
	for name, c := range map[string]bad{
		"no weights":      {WeightsFile, nil, "model.safetensors: the file is missing"},
		"no optimiser":    {OptimizerFile, nil, "optimizer.safetensors: the file is missing"},
		"other tokenizer": {TokenizerFile, []byte("{}"), "tokenizer.json: not the tokenizer"},
		"garbage config":  {ConfigFile, []byte("{"), "config.json: unexpected end"},
		"tied":            {ConfigFile, config(`"tie_word_embeddings": true`, `"tie_word_embeddings": false`), "config.json: tie_word_embeddings is false, not true"},
		"epsilon":         {ConfigFile, config(`"rms_norm_eps"`, `"rms"`), "config.json: rms_norm_eps is 0, not 0.00001"},
		"heads":           {ConfigFile, config(`"num_key_value_heads": 1`, `"num_key_value_heads": 2`), "config.json: num_key_value_heads is 2, not 1"},
		"vocabulary":      {ConfigFile, config(`"vocab_size": 645`, `"vocab_size": 9`), "config.json: vocab_size is 9"},
		"width":           {ConfigFile, config(`"hidden_size": 32`, `"hidden_size": 33`), "config.json: model width 33"},
		"context":         {ConfigFile, config(`: 256`, `: 65537`), "config.json: model shape"},
		"huge":            {ConfigFile, config(`"intermediate_size": 64`, `"intermediate_size": 65536`), "model.safetensors: "},
		"short":           {WeightsFile, good[WeightsFile][:len(good[WeightsFile])-1], "model.safetensors: "},
		"a tensor less":   {WeightsFile, tensors(WeightsFile, func(ts []safetensors.Tensor) []safetensors.Tensor { return ts[1:] }), "model.safetensors: "},
		"a state less": {OptimizerFile, tensors(OptimizerFile, func(ts []safetensors.Tensor) []safetensors.Tensor { return ts[1:] }),
			"optimizer.safetensors: tensor exp_avg.model.embed_tokens.weight is missing"},
		"not a number": {WeightsFile, tensors(WeightsFile, func(ts []safetensors.Tensor) []safetensors.Tensor {
			binary.LittleEndian.PutUint32(ts[0].Data, 0x7fc00000)
			return ts
		}), "model.safetensors: a weight is NaN"},
	} {
		files := maps.Clone(good)
		if files[c.file] = c.content; c.content == nil {
			delete(files, c.file)
		}
		_, err := DecodeTrainer(files, 1)
		if rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), c.say) {
			t.Errorf("%s: %v, want %s", name, err, c.say)
		}
	}
	if _, _, err := EncodeFiles(nn.NewTrainer(nn.New(nn.Config{V: 7, D: 32, L: 1, F: 8, Ctx: 8}, 1), 1)); rl.KindOf(err) != rl.Invalid {
		t.Error(err)
	}
}

func FuzzDecodeModel(f *testing.F) {
	good := encode(f, trained(f))
	f.Add(good[ConfigFile], good[WeightsFile])
	f.Add(bytes.Replace(good[ConfigFile], []byte("64"), []byte("65536"), 1), good[WeightsFile][:2000])
	f.Fuzz(func(t *testing.T, config, weights []byte) {
		m, err := DecodeModel(map[string][]byte{ConfigFile: config, WeightsFile: weights, TokenizerFile: tokenizerFile})
		if (m == nil) != (rl.KindOf(err) == rl.Invalid) {
			t.Fatal(m, err)
		}
	})
}
