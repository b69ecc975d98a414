package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pretokenizer says where text may be cut: tokens never cross a cut.
type pretokenizer struct {
	Type    string         `json:"type"`
	Parts   []pretokenizer `json:"pretokenizers"` // Sequence
	Pattern struct {
		Regex string `json:"Regex"`
	} `json:"pattern"` // Split
	Behavior   string `json:"behavior"`
	Invert     bool   `json:"invert"`
	Prefix     bool   `json:"add_prefix_space"` // ByteLevel
	UseRegex   *bool  `json:"use_regex"`
	Individual bool   `json:"individual_digits"` // Digits
}

// gpt2 is ByteLevel's own pattern (OpenAI's gpt-2/src/encoder.py).
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// cuts are the steps that cut a text up. The last must be to bytes.
func (p *pretokenizer) cuts() (steps []func(string) []string, err error) {
	if p == nil {
		return nil, fmt.Errorf("it has no pre-tokenizer: known is byte-level BPE")
	}
	parts := []pretokenizer{*p}
	if p.Type == "Sequence" {
		parts = p.Parts
	}
	for i, part := range parts {
		var step func(string) []string
		switch {
		case part.Type == "Split" && part.Behavior == "Isolated" && !part.Invert && part.Pattern.Regex != "":
			step, err = split(part.Pattern.Regex)
		case part.Type == "Digits" && part.Individual:
			step, err = split(`\p{N}`)
		case part.Type == "ByteLevel" && !part.Prefix && i == len(parts)-1:
			if part.UseRegex != nil && !*part.UseRegex {
				return steps, nil
			}
			step, err = split(gpt2)
			return append(steps, step), err
		default:
			return nil, fmt.Errorf("its pre-tokenizer %s is set in a way that is not known here", part.Type)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return nil, fmt.Errorf("its pre-tokenizer does not end with ByteLevel")
}

// ahead is the only look-ahead that tokenizers use: spaces, but not the last before something else. Go's expressions have
// none, so it is left out, and the last space given back.
const ahead = `|\s+(?!\S)`

// split cuts a text into matches of a pattern and what is between.
func split(pattern string) (func(string) []string, error) {
	giveBack, lines := strings.Contains(pattern, ahead), strings.Contains(pattern, `\s*[\r\n]`)
	re, err := regexp.Compile(unicodeSpaces(strings.Replace(pattern, ahead, "", 1)))
	if err != nil {
		return nil, fmt.Errorf("its pre-tokenizer's pattern %q: %w", pattern, err)
	}
	return func(text string) (out []string) {
		for text != "" {
			at := re.FindStringIndex(text)
			if at == nil || at[0] == at[1] {
				return append(out, text)
			}
			if at[0] > 0 {
				out = append(out, text[:at[0]])
			}
			end := at[1]
			if giveBack && end < len(text) {
				end = at[0] + kept(text[at[0]:end], lines)
			}
			out, text = append(out, text[at[0]:end]), text[end:]
		}
		return out
	}, nil
}

// kept is how much of a match before something else is kept: of several spaces all but the last. Where lines' ends have an
// alternative of their own, that is what matched up to one.
func kept(match string, lines bool) int {
	_, last := utf8.DecodeLastRuneInString(match)
	if last == len(match) || lines && strings.ContainsAny(match[len(match)-last:], "\r\n") || strings.TrimFunc(match, unicode.IsSpace) != "" {
		return len(match)
	}
	return len(match) - last
}

// unicodeSpaces spells \s out, which Go takes for ASCII's alone.
func unicodeSpaces(pattern string) string {
	const spaces = `\t-\r\x{85}\p{Z}`
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			switch {
			case pattern[i] != 's':
				b.WriteString(pattern[i-1 : i+1])
			case inClass:
				b.WriteString(spaces)
			default:
				b.WriteString("[" + spaces + "]")
			}
			continue
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
