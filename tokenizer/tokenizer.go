// Package tokenizer turns text into a model's token ids and back, as tokenizer.json of its directory says: byte-level BPE,
// the kind that Qwen, Llama 3, SmolLM2 and GPT-2 have. What it does not know it refuses, since ids that are nearly right
// would train another model than the one that is served.
//
// tokenizer.go is the file, pieces.go cuts text up, bpe.go joins bytes. The format is Hugging Face's
// (https://huggingface.co/docs/tokenizers).
package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/longhaul-rl/longhaul/rl"
)

// Tokenizer is one model's. It is safe for concurrent use.
type Tokenizer struct {
	ids     map[string]int32 // of tokens in the byte alphabet
	texts   map[int32]string // what a token is in text, as bytes
	special map[string]int32 // tokens that no text can contain
	marks   []string         // added tokens that text may contain, longest first
	rank    map[[2]string]int
	whole   bool // a piece that is a token needs no merges
	compose bool // text is normalised to NFC
	cuts    []func(string) []string
}

type file struct {
	Added []struct {
		ID         int32  `json:"id"`
		Content    string `json:"content"`
		Special    bool   `json:"special"`
		Normalized bool   `json:"normalized"`
		SingleWord bool   `json:"single_word"`
		LStrip     bool   `json:"lstrip"`
		RStrip     bool   `json:"rstrip"`
	} `json:"added_tokens"`
	Normalizer *struct {
		Type string `json:"type"`
	} `json:"normalizer"`
	Pre   *pretokenizer `json:"pre_tokenizer"`
	Model struct {
		Type         string            `json:"type"`
		Vocab        map[string]int32  `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
		IgnoreMerges bool              `json:"ignore_merges"`
	} `json:"model"`
}

// Decode reads tokenizer.json. Errors: Invalid, with what of it is not known here.
func Decode(b []byte) (*Tokenizer, error) {
	t, err := decode(b)
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "tokenizer.json", "%w", err)
	}
	return t, nil
}

func decode(b []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{texts: map[int32]string{}, special: map[string]int32{}, rank: map[[2]string]int{}, whole: f.Model.IgnoreMerges}
	if f.Model.Type != "BPE" {
		return nil, fmt.Errorf("its model is %q, not BPE", f.Model.Type)
	}
	if f.Normalizer != nil {
		if t.compose = f.Normalizer.Type == "NFC"; !t.compose {
			return nil, fmt.Errorf("its normalizer is %q: known is NFC", f.Normalizer.Type)
		}
	}
	var err error
	if t.cuts, err = f.Pre.cuts(); err != nil {
		return nil, err
	}
	if err := t.takeMerges(f.Model.Merges); err != nil {
		return nil, err
	}
	if t.ids = f.Model.Vocab; len(t.ids) == 0 {
		return nil, fmt.Errorf("its vocabulary is empty")
	}
	for token, id := range t.ids {
		if id < 0 {
			return nil, fmt.Errorf("the token %q has the id %d", token, id)
		}
		t.texts[id] = hidden(token)
	}
	for _, a := range f.Added {
		if a.Content == "" || a.ID < 0 {
			return nil, fmt.Errorf("the added token %q has the id %d", a.Content, a.ID)
		}
		if a.LStrip || a.RStrip || a.SingleWord {
			return nil, fmt.Errorf("the added token %q takes in its surroundings (lstrip, rstrip or single_word)", a.Content)
		}
		if a.Special {
			t.special[a.Content] = a.ID
			t.texts[a.ID] = ""
			continue
		}
		t.marks = append(t.marks, a.Content)
		t.ids[a.Content], t.texts[a.ID] = a.ID, a.Content
	}
	slices.SortFunc(t.marks, func(a, b string) int { return len(b) - len(a) })
	return t, nil
}

// takeMerges reads pairs, written "a b" or ["a", "b"], the first to be joined first.
func (t *Tokenizer) takeMerges(merges []json.RawMessage) error {
	for i, raw := range merges {
		var pair [2]string
		if json.Unmarshal(raw, &pair) != nil {
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				return fmt.Errorf("merge %d: %w", i, err)
			}
			var ok bool
			if pair[0], pair[1], ok = strings.Cut(s, " "); !ok {
				return fmt.Errorf("merge %d is %q, no pair", i, s)
			}
		}
		if _, twice := t.rank[pair]; !twice {
			t.rank[pair] = i
		}
	}
	return nil
}

// Special is the id of a special token, such as <|im_end|>.
func (t *Tokenizer) Special(name string) (id int32, ok bool) {
	id, ok = t.special[name]
	return id, ok
}

// Encode appends the ids of a text. One that spells a special token is spelled in pieces, so that no text can forge a role.
// Errors: Invalid, where a byte has no token.
func (t *Tokenizer) Encode(to []int32, text string) ([]int32, error) {
	for text != "" {
		at, mark := t.nextMark(text)
		plain := text[:at]
		if t.compose {
			plain = norm.NFC.String(plain)
		}
		var err error
		if to, err = t.pieces(to, plain); err != nil {
			return nil, rl.Errorf(rl.Invalid, "tokenizer.json", "%w", err)
		}
		if mark != "" {
			to = append(to, t.ids[mark])
		}
		text = text[at+len(mark):]
	}
	return to, nil
}

// nextMark finds the first added token in a text, the longest where several begin; none is at its end.
func (t *Tokenizer) nextMark(text string) (at int, mark string) {
	at = len(text)
	for _, m := range t.marks {
		if i := strings.Index(text, m); i >= 0 && i < at {
			at, mark = i, m
		}
	}
	return at, mark
}

// Text is what ids say. Special tokens say nothing; the result may be no valid UTF-8.
func (t *Tokenizer) Text(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(t.texts[id])
	}
	return b.String()
}
