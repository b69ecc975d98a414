package jsonscan

import "slices"

// Scanner is a place in a JSON text. After the first thing that is not as expected every read gives a zero value,
// More says false, and so does Done.
type Scanner struct {
	text  string
	at    int
	first bool // nothing of the innermost object or array has been read
	gone  bool
}

// New is at the beginning of text. The strings it gives are parts of text where they can be.
func New(text string) Scanner { return Scanner{text: text} }

// Done reports whether the whole text was read and as expected.
func (s *Scanner) Done() bool { return !s.gone && s.at == len(s.text) }

// Fail gives up.
func (s *Scanner) Fail() { s.gone, s.at = true, len(s.text) }

// Open enters an object ('{') or an array ('[').
func (s *Scanner) Open(bracket byte) {
	s.expect(bracket)
	s.first = true
}

// More reports whether the innermost object ('}') or array (']') has one more element, and else leaves it.
func (s *Scanner) More(bracket byte) bool {
	first := s.first
	s.first = false
	switch {
	case s.at == len(s.text):
		s.Fail()
		return false
	case s.text[s.at] == bracket:
		s.at++
		return false
	case !first:
		s.expect(',')
	}
	return !s.gone
}

// Member reads the key of a member and gives its index in names. It fails on any other name, and on one that is
// already in seen, a set of indices.
func (s *Scanner) Member(names []string, seen *uint64) int {
	raw, plain := s.literal()
	s.expect(':')
	if !plain || s.gone {
		s.Fail()
		return -1
	}
	i := slices.Index(names, raw[1:len(raw)-1])
	if i < 0 || *seen&(1<<i) != 0 {
		s.Fail()
		return -1
	}
	*seen |= 1 << i
	return i
}

func (s *Scanner) expect(c byte) {
	if s.at == len(s.text) || s.text[s.at] != c {
		s.Fail()
		return
	}
	s.at++
}

// word passes over w if it comes next.
func (s *Scanner) word(w string) bool {
	if len(s.text)-s.at < len(w) || s.text[s.at:s.at+len(w)] != w {
		return false
	}
	s.at += len(w)
	return true
}
