package jsonscan

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxDepth bounds the nesting that Skip follows.
const maxDepth = 16

// OneOf passes over the value that is byte for byte one of n known ones, each of which is a whole JSON object or array
// (an empty text is none), and gives its index. It fails on any other.
func (s *Scanner) OneOf(n int, known func(int) string) int {
	for i := range n {
		if k := known(i); k != "" && s.word(k) {
			return i
		}
	}
	s.Fail()
	return -1
}

// Text reads a string.
func (s *Scanner) Text() string {
	raw, plain := s.literal()
	if s.gone {
		return ""
	}
	if plain {
		return raw[1 : len(raw)-1]
	}
	return s.unescaped(raw)
}

// literal passes over a string with its quotes. It is plain when it has neither escapes nor bytes beyond ASCII; any
// other still has to be checked.
func (s *Scanner) literal() (raw string, plain bool) {
	start := s.at
	if s.expect('"'); s.gone {
		return "", false
	}
	plain = true
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			return s.text[start:s.at], plain
		case c == '\\':
			plain = false
			i++
		case c >= 0x80:
			plain = false
		case c < ' ':
			s.Fail()
			return "", false
		}
	}
	s.Fail()
	return "", false
}

// unescaped is the value of a literal. Quotes inside are frequent, the arguments of a tool call are JSON in a string;
// what else there is goes to encoding/json.
func (s *Scanner) unescaped(raw string) string {
	out := make([]byte, 0, len(raw))
	for i := 1; i < len(raw)-1; i++ {
		c := raw[i]
		if c == '\\' {
			i++
			c = raw[i]
			if c != '"' && c != '\\' && c != '/' {
				c = 0x80
			}
		}
		if c >= 0x80 {
			var v string
			if json.Unmarshal([]byte(raw), &v) != nil {
				s.Fail()
			}
			return v
		}
		out = append(out, c)
	}
	return string(out)
}

// Int reads a whole number of so many bits.
func (s *Scanner) Int(bits int) int64 {
	start := s.at
	if s.word("-"); s.at == len(s.text) {
		s.Fail()
		return 0
	}
	digits := s.at
	limit := uint64(math.MaxInt64) >> (64 - bits) // one less than what the lowest number needs: that one is rare
	v := uint64(0)
	for ; s.at < len(s.text) && s.text[s.at]-'0' <= 9; s.at++ {
		d := uint64(s.text[s.at] - '0')
		if v > (limit-d)/10 {
			s.Fail()
			return 0
		}
		v = v*10 + d
	}
	n := s.at - digits
	if n == 0 || n > 1 && s.text[digits] == '0' || s.at < len(s.text) && (s.text[s.at] == '.' || s.text[s.at]|0x20 == 'e') {
		s.Fail()
		return 0
	}
	if digits > start {
		return -int64(v)
	}
	return int64(v)
}

// Int32s reads an array of whole numbers; it is not nil.
func (s *Scanner) Int32s() []int32 {
	all := make([]int32, 0, 16)
	for s.Open('['); s.More(']'); {
		all = append(all, int32(s.Int(32)))
	}
	return all
}

// Float reads a number, rounded to so many bits.
func (s *Scanner) Float(bits int) float64 {
	text := s.number()
	if s.gone {
		return 0
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil {
		s.Fail()
	}
	return v
}

// number passes over a number.
func (s *Scanner) number() string {
	start := s.at
	s.word("-")
	if whole := s.at; s.digits() && s.text[whole] == '0' && s.at > whole+1 {
		s.Fail()
	}
	if s.word(".") {
		s.digits()
	}
	if s.word("e") || s.word("E") {
		if !s.word("-") {
			s.word("+")
		}
		s.digits()
	}
	if s.gone {
		return ""
	}
	return s.text[start:s.at]
}

// digits passes over at least one digit, or fails.
func (s *Scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	if s.at == start {
		s.Fail()
	}
	return !s.gone
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	if s.word("true") {
		return true
	}
	if !s.word("false") {
		s.Fail()
	}
	return false
}

// Null passes over null if it comes next.
func (s *Scanner) Null() bool { return s.word("null") }

// Skip passes over a value of any kind.
func (s *Scanner) Skip() { s.skip(maxDepth) }

func (s *Scanner) skip(depth int) {
	if s.at == len(s.text) || depth == 0 {
		s.Fail()
		return
	}
	switch s.text[s.at] {
	case '{':
		for s.Open('{'); s.More('}'); {
			s.Text()
			s.expect(':')
			s.skip(depth - 1)
		}
	case '[':
		for s.Open('['); s.More(']'); {
			s.skip(depth - 1)
		}
	case '"':
		s.Text()
	case 't', 'f':
		s.Bool()
	case 'n':
		if !s.Null() {
			s.Fail()
		}
	default:
		s.number()
	}
}
