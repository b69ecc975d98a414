package child

import (
	"errors"
	"strings"
)

// Words splits a command line at its spaces. Quotes of either kind keep spaces, a backslash outside of single quotes keeps the
// next character; nothing else is special, since no shell is started. Errors: a quote without its end, no word at all.
func Words(line string) (words []string, err error) {
	var word strings.Builder
	open, quote := false, rune(0)
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, open = true, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote has no end")
	case open:
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("there is no command")
	}
	return words, nil
}
