package tiny

import (
	"fmt"
	"slices"
	"strings"
)

// Token ids: the 256 bytes, the special tokens, some in reserve, and the word pieces.
const (
	tokenBegin     = 256 + iota // opens every conversation
	tokenUser                   // opens a message of that role
	tokenAssistant              //
	tokenTool                   //
	tokenEnd                    // closes a message; the policy's way to stop
	tokenReserved
	firstPiece = 264
)

// Vocab is the number of token ids.
const Vocab = firstPiece + 21 + 260 + 100

// specials are the special tokens as text, from id tokenBegin on. Only Hugging Face's tokenizer reads them in
// text; here a message that contains one is spelled in bytes, so that no text can forge a role.
var specials = [firstPiece - tokenBegin]string{
	"<|begin|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>", "<|reserved_0|>", "<|reserved_1|>", "<|reserved_2|>",
}

// pieces are the words of the order desk. Box names and order numbers are one piece each: a name of two pieces
// invites the policy to mix one box's letter with another's digit.
var pieces = func() []string {
	p := []string{
		"where is order ", ", fragile", " in box ", "inspect ", "bad call", " intact", "answer ", "track ", " empty",
		"find ", " at ", "busy", "none", "Oslo ", "Rome ", "Lima ", "Bonn ", "Cork ", "Pune ", "Kyiv ", "Doha ",
	}
	for b := range 260 {
		p = append(p, fmt.Sprintf("%c%d", 'A'+b/10, b%10))
	}
	for n := range 100 {
		p = append(p, fmt.Sprintf("%02d", n))
	}
	return p
}()

// piece is a word piece and its token id.
type piece struct {
	text string
	id   int32
}

// byFirst has the pieces that begin with a byte, longest first.
var byFirst = func() (all [256][]piece) {
	for i, text := range pieces {
		all[text[0]] = append(all[text[0]], piece{text, int32(firstPiece + i)})
	}
	for i := range all {
		slices.SortStableFunc(all[i], func(a, b piece) int { return len(b.text) - len(a.text) })
	}
	return all
}()

// appendText encodes s: at every place the longest piece that fits, else the byte.
func appendText(to []int32, s string) []int32 {
next:
	for s != "" {
		for _, p := range byFirst[s[0]] {
			if strings.HasPrefix(s, p.text) {
				to, s = append(to, p.id), s[len(p.text):]
				continue next
			}
		}
		to, s = append(to, int32(s[0])), s[1:]
	}
	return to
}

// text decodes ids; special tokens have no text. The result may be no valid UTF-8.
func text(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		switch {
		case id < 0 || id >= Vocab:
		case id < tokenBegin:
			b.WriteByte(byte(id))
		case id >= firstPiece:
			b.WriteString(pieces[id-firstPiece])
		}
	}
	return b.String()
}
