package tokenizer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// pieces cuts a text up and appends the ids of each piece.
func (t *Tokenizer) pieces(to []int32, text string) ([]int32, error) {
	if text == "" {
		return to, nil
	}
	parts := []string{text}
	for _, cut := range t.cuts {
		var next []string
		for _, p := range parts {
			next = append(next, cut(p)...)
		}
		parts = next
	}
	var err error
	for _, p := range parts {
		if to, err = t.join(to, visible(p)); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// join appends the ids of one piece: beginning with its bytes, the pair of neighbours that was learnt first is joined,
// again and again. R. Sennrich and others, Neural Machine Translation of Rare Words with Subword Units, 2016,
// arXiv:1508.07909.
func (t *Tokenizer) join(to []int32, piece string) ([]int32, error) {
	if id, ok := t.ids[piece]; ok && t.whole {
		return append(to, id), nil
	}
	symbols := strings.Split(piece, "")
	ranks := make([]int, max(len(symbols)-1, 0)) // of symbol i with the one after it
	rank := func(i int) {
		if r, ok := t.rank[[2]string{symbols[i], symbols[i+1]}]; ok {
			ranks[i] = r
		} else {
			ranks[i] = math.MaxInt
		}
	}
	for i := range ranks {
		rank(i)
	}
	for len(ranks) > 0 {
		first := slices.Min(ranks)
		if first == math.MaxInt {
			break
		}
		i := slices.Index(ranks, first)
		symbols[i] += symbols[i+1]
		symbols, ranks = slices.Delete(symbols, i+1, i+2), slices.Delete(ranks, i, i+1)
		if i < len(ranks) {
			rank(i)
		}
		if i > 0 {
			rank(i - 1)
		}
	}
	for _, s := range symbols {
		id, ok := t.ids[s]
		if !ok {
			return nil, fmt.Errorf("%q has no token", hidden(s))
		}
		to = append(to, id)
	}
	return to, nil
}

// visible spells bytes in GPT-2's alphabet, in which every byte is a printable character: printable ASCII and Latin-1 are
// themselves, the others count on from U+0100 (bytes_to_unicode in OpenAI's gpt-2/src/encoder.py).
func visible(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteRunes[s[i]])
	}
	return b.String()
}

// hidden is visible the other way round.
func hidden(s string) string {
	var b strings.Builder
	for _, r := range s {
		if c, ok := runeBytes[r]; ok {
			b.WriteByte(c)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var byteRunes, runeBytes = func() (r [256]rune, back map[rune]byte) {
	next, back := rune(256), map[rune]byte{}
	for b := range r {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			r[b] = rune(b)
		} else {
			r[b], next = next, next+1
		}
		back[r[b]] = byte(b)
	}
	return r, back
}()
