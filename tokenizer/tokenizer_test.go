package tokenizer

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/longhaul-rl/longhaul/rl"
)

// family is what Hugging Face's tokenizers makes of texts, with the pre-tokenizer of a family of models; see testdata/make.py.
type family struct {
	Pre   json.RawMessage `json:"pre_tokenizer"`
	Cases []struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	} `json:"cases"`
}

// with is testdata/tokenizer.json with one key of it set.
func with(t *testing.T, key string, value json.RawMessage) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	f[key] = value
	b, err = json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestIDsAreThoseOfHuggingFace(t *testing.T) {
	for _, name := range []string{"gpt2", "qwen", "llama", "smollm"} {
		b, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var f family
		if err := json.Unmarshal(b, &f); err != nil || len(f.Cases) < 50 {
			t.Fatal(len(f.Cases), err)
		}
		tokens, err := Decode(with(t, "pre_tokenizer", f.Pre))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			got, err := tokens.Encode(nil, c.Text)
			if err != nil || !slices.Equal(got, c.IDs) {
				t.Errorf("%s: %q is %v, not %v (%v)", name, c.Text, got, c.IDs, err)
			}
			if back := tokens.Text(got); back != norm.NFC.String(c.Text) {
				t.Errorf("%s: %q comes back as %q", name, c.Text, back)
			}
		}
	}
}

func TestSpecialTokensSayNothing(t *testing.T) {
	b, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	end, ok := tokens.Special("<|im_end|>")
	if _, other := tokens.Special("<tool_call>"); !ok || other {
		t.Errorf("special: <|im_end|> %v, <tool_call> %v", ok, other)
	}
	if got := tokens.Text([]int32{end, -1, 1 << 30}); got != "" {
		t.Errorf("they say %q", got)
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	for _, c := range []struct{ key, value, words string }{
		{"model", `{"type": "Unigram"}`, `its model is "Unigram", not BPE`},
		{"normalizer", `{"type": "Lowercase"}`, `its normalizer is "Lowercase"`},
		{"pre_tokenizer", `null`, "no pre-tokenizer"},
		{"pre_tokenizer", `{"type": "Metaspace"}`, "pre-tokenizer Metaspace"},
		{"pre_tokenizer", `{"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "x"}}`, "does not end with ByteLevel"},
		{"pre_tokenizer", `{"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "x(?=y)"}}`, `pattern "x(?=y)"`},
		{"added_tokens", `[{"id": 1, "content": "a", "lstrip": true}]`, "takes in its surroundings"},
		{"added_tokens", `[{"id": 1}]`, `the added token ""`},
		{"added_tokens", `[{"id": -1, "content": "a"}]`, `the added token "a" has the id -1`},
		{"model", `{"type": "BPE"}`, "its vocabulary is empty"},
		{"model", `{"type": "BPE", "vocab": {"a": -1}}`, `the token "a" has the id -1`},
	} {
		_, err := Decode(with(t, c.key, json.RawMessage(c.value)))
		if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s %s: %v", c.key, c.value, err)
		}
	}
}

// Whatever a file says, it is refused, or texts have ids or an error.
func FuzzDecode(f *testing.F) {
	whole, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, "where is order 48?")
	const small = `{"model": {"type": "BPE", "vocab": {"a": 0, "ab": 1}, "merges": ["a b"]}, "pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [{"id": 2, "content": "<x>"}]}`
	f.Add([]byte(small), "ab <x>")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tokens, err := Decode(file)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		ids, err := tokens.Encode(nil, text)
		if err == nil && !tokens.compose && len(tokens.special) == 0 && text != "" && len(ids) == 0 {
			t.Errorf("%q has no ids", text)
		}
	})
}
