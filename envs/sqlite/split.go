package sqlite

import (
	"fmt"
	"slices"
	"strings"
)

// statement is one SQL statement of a file.
type statement struct {
	sql        string
	line       int      // of its first word
	words      []string // names and keywords outside quotes, in lower case
	parameters []string // names of its :parameters, each once, without the colon
	rows       bool     // it returns rows (compile)
}

// splitter cuts SQL into statements. It knows as much of SQL as that takes: quotes, comments, parameters, and where a trigger
// ends.
type splitter struct {
	at, text string // the file, and what is left of it
	line     int
	done     []statement
	now      statement
	raw      strings.Builder
}

// split cuts the SQL of a file, which begins at a line, into statements. The error names the line.
func split(at, sql string, line int) ([]statement, error) {
	s := &splitter{at: at, text: sql, line: line}
	for s.text != "" {
		if err := s.token(); err != nil {
			return nil, err
		}
	}
	s.end()
	return s.done, nil
}

func (s *splitter) token() error {
	switch c := s.text[0]; {
	case strings.HasPrefix(s.text, "--"):
		s.skip(s.until("\n"))
	case strings.HasPrefix(s.text, "/*"):
		n := s.until("*/")
		if !strings.HasSuffix(s.text[:n], "*/") {
			return fmt.Errorf("%s:%d: a comment that does not end", s.at, s.line)
		}
		s.skip(n)
	case c == '\'' || c == '"' || c == '`' || c == '[':
		return s.quoted(c)
	case c == ';':
		s.take(1)
		s.word(";")
		if !s.inTrigger() {
			s.end()
		}
	case c == '?' || c == '@' || c == '$':
		return fmt.Errorf("%s:%d: %q: parameters are written :name", s.at, s.line, c)
	case c == ':' || isName(c):
		n := 1
		for n < len(s.text) && isName(s.text[n]) {
			n++
		}
		if name := s.text[1:n]; c == ':' && name == "" {
			return fmt.Errorf("%s:%d: a : without the name of a parameter", s.at, s.line)
		} else if c == ':' && !slices.Contains(s.now.parameters, name) {
			s.now.parameters = append(s.now.parameters, name)
		}
		if c != ':' {
			s.word(strings.ToLower(s.text[:n]))
		}
		s.take(n)
	default:
		if !strings.ContainsRune(" \t\r\n", rune(c)) {
			s.word(string(c))
		}
		s.take(1)
	}
	return nil
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// quoted takes a text or a quoted name. A doubled quote inside is two quoted parts to us, which makes no difference.
func (s *splitter) quoted(open byte) error {
	shut := string(open)
	if open == '[' {
		shut = "]"
	}
	n := strings.Index(s.text[1:], shut) + 2
	if n == 1 {
		return fmt.Errorf("%s:%d: a quote that does not end", s.at, s.line)
	}
	s.word(strings.ToLower(s.text[:n]))
	s.take(n)
	return nil
}

// until is how long the text is up to and with an ending.
func (s *splitter) until(ending string) int {
	if n := strings.Index(s.text, ending); n >= 0 {
		return n + len(ending)
	}
	return len(s.text)
}

// skip passes over a comment, of which a space stays.
func (s *splitter) skip(n int) {
	s.line += strings.Count(s.text[:n], "\n")
	s.text = s.text[n:]
	s.raw.WriteByte(' ')
}

func (s *splitter) take(n int) {
	s.raw.WriteString(s.text[:n])
	s.line += strings.Count(s.text[:n], "\n")
	s.text = s.text[n:]
}

func (s *splitter) word(w string) {
	if len(s.now.words) == 0 {
		s.now.line = s.line
	}
	s.now.words = append(s.now.words, w)
}

// inTrigger reports whether the ";" just taken is inside a trigger: one ends with "; END ;".
func (s *splitter) inTrigger() bool {
	words := s.now.words
	created := words[0] == "create" && slices.Contains(words[:min(4, len(words))], "trigger")
	n := len(words)
	return created && !(n > 2 && words[n-2] == "end" && words[n-3] == ";")
}

// end closes the statement at hand. An empty one is dropped.
func (s *splitter) end() {
	s.now.sql = strings.TrimSpace(s.raw.String())
	if n := len(s.now.words); n > 0 && s.now.words[n-1] == ";" {
		s.now.words = s.now.words[:n-1]
	}
	if len(s.now.words) > 0 {
		s.done = append(s.done, s.now)
	}
	s.now = statement{}
	s.raw.Reset()
}
