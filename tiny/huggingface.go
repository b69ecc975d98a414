package tiny

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The files of a Hugging Face directory that say what the weights mean. See
// https://huggingface.co/docs/transformers/model_doc/llama for config.json.

// modelConfig is config.json. Left out, tie_word_embeddings and rms_norm_eps would silently give other logits.
type modelConfig struct {
	Architectures    []string `json:"architectures"`
	ModelType        string   `json:"model_type"`
	VocabSize        int      `json:"vocab_size"`
	HiddenSize       int      `json:"hidden_size"`
	IntermediateSize int      `json:"intermediate_size"`
	Layers           int      `json:"num_hidden_layers"`
	Heads            int      `json:"num_attention_heads"`
	KeyValueHeads    int      `json:"num_key_value_heads"`
	HeadDim          int      `json:"head_dim"`
	HiddenAct        string   `json:"hidden_act"`
	MaxPositions     int      `json:"max_position_embeddings"`
	RMSNormEpsilon   float64  `json:"rms_norm_eps"`
	RopeTheta        float64  `json:"rope_theta"`
	TieEmbeddings    bool     `json:"tie_word_embeddings"`
	AttentionBias    bool     `json:"attention_bias"`
	MLPBias          bool     `json:"mlp_bias"`
	Begin            int      `json:"bos_token_id"`
	End              int      `json:"eos_token_id"`
	DType            string   `json:"torch_dtype"`
}

func configOf(c nn.Config) modelConfig {
	return modelConfig{
		Architectures: []string{"LlamaForCausalLM"}, ModelType: "llama",
		VocabSize: c.V, HiddenSize: c.D, IntermediateSize: c.F, Layers: c.L,
		Heads: c.Heads(), KeyValueHeads: c.Heads(), HeadDim: c.D / c.Heads(), HiddenAct: "silu", MaxPositions: c.Ctx,
		RMSNormEpsilon: nn.NormEpsilon, RopeTheta: nn.RopeTheta, TieEmbeddings: true,
		Begin: tokenBegin, End: tokenEnd, DType: "float32",
	}
}

// chatTemplate renders in Jinja what template.go renders. It wants arguments as mappings, the way transformers
// passes them; special tokens in a message's text are tokens there and bytes here.
const chatTemplate = `{%- macro text(content) -%}
{%- if content is string -%}{{- content -}}
{%- elif content is not none -%}{%- for part in content -%}{{- part.text -}}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- macro line(call) -%}
{{- call.name.split('_')[0] or call.name -}}
{%- for tool in tools or [] -%}{%- if tool.function.name == call.name -%}
{%- for name, schema in (tool.function.parameters.properties or {}).items() -%}
{%- if schema.type == 'string' and call.arguments is mapping and name in call.arguments -%}
{{- ' ' -}}{%- if call.arguments[name] is string -%}{{- call.arguments[name] -}}{%- else -%}{{- call.arguments[name] | tojson -}}{%- endif -%}
{%- endif -%}{%- endfor -%}{%- endif -%}{%- endfor -%}
{%- endmacro -%}
{{- '<|begin|>' -}}
{%- for message in messages -%}
{%- if message.role in ['user', 'assistant', 'tool'] -%}
{%- set said = text(message.content) -%}
{{- '<|' + message.role + '|>' + said -}}
{%- for call in message.tool_calls or [] -%}
{%- if said or not loop.first -%}{{- '\n' -}}{%- endif -%}
{{- line(call.function) -}}
{%- endfor -%}
{{- '<|end|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}`

// tokenizerConfig is tokenizer_config.json.
func tokenizerConfig(c nn.Config) []byte {
	return indented(map[string]any{
		"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": specials[0], "eos_token": specials[tokenEnd-tokenBegin],
		"model_max_length": c.Ctx, "clean_up_tokenization_spaces": false, "chat_template": chatTemplate,
	})
}

// generationConfig is generation_config.json: how the policy is sampled.
func generationConfig() []byte {
	return indented(map[string]any{"bos_token_id": tokenBegin, "eos_token_id": tokenEnd, "do_sample": true, "temperature": 1, "top_k": 0, "top_p": 1})
}

// tokenizerFile is tokenizer.json. Hugging Face's WordPiece with an empty prefix for continuing pieces matches the
// longest piece first, as appendText does. Its time grows with the cube of a word, so a pattern of all pieces,
// longest first, cuts the text before: what is left to WordPiece is a piece, or the bytes of one character.
var tokenizerFile = func() []byte {
	vocab := map[string]int{}
	for b := range 256 {
		vocab[visible(string([]byte{byte(b)}))] = b
	}
	var added []any
	for i, s := range specials {
		added = append(added, map[string]any{"id": tokenBegin + i, "content": s, "single_word": false,
			"lstrip": false, "rstrip": false, "normalized": false, "special": true})
		vocab[s] = tokenBegin + i
	}
	for i, p := range pieces {
		vocab[visible(p)] = firstPiece + i
	}
	longest := slices.SortedStableFunc(slices.Values(pieces), func(a, b string) int { return len(b) - len(a) })
	cut := map[string]any{"type": "Split", "behavior": "Isolated", "invert": false,
		"pattern": map[string]any{"Regex": strings.Join(longest, "|") + `|[\s\S]`}} // no piece has a special character
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	return indented(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer":  map[string]any{"type": "Sequence", "pretokenizers": []any{cut, byteLevel}},
		"post_processor": nil, "decoder": byteLevel,
		"model": map[string]any{"type": "WordPiece", "unk_token": specials[tokenReserved-tokenBegin],
			"continuing_subword_prefix": "", "max_input_chars_per_word": 1 << 30, "vocab": vocab},
	})
}()

// visible spells bytes in GPT-2's alphabet, in which every byte is a printable character: printable ASCII and
// Latin-1 are themselves, the others count on from U+0100 (bytes_to_unicode in OpenAI's gpt-2/src/encoder.py).
func visible(s string) string {
	var out []rune
	for i := range len(s) {
		out = append(out, byteRunes[s[i]])
	}
	return string(out)
}

var byteRunes = func() (r [256]rune) {
	next := rune(256)
	for b := range r {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			r[b] = rune(b)
		} else {
			r[b], next = next, next+1
		}
	}
	return r
}()

// indented is JSON for people, with sorted keys: the same value gives the same bytes.
func indented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		panic(err) // values of this file
	}
	return b.Bytes()
}
