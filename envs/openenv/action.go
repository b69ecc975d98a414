package openenv

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
)

// Python's JSON reader gives up on these, and the server ends the session: a number's digits, and how deep values may be
// nested. Its own limits are 4,300 and about 1,000.
const (
	mostDigits = 4000
	mostDepth  = 200
)

// unfit says, in words for the model, why an action's JSON would break a server's session rather than be refused; or nothing. Such
// a text is not sent: what the model did wrong must not look like a server that failed.
func unfit(action json.RawMessage) string {
	depth, digits := 0, 0
	for i := 0; i < len(action); i++ {
		c := action[i]
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		switch {
		case digits > mostDigits:
			return fmt.Sprintf("a number has more than %d digits", mostDigits)
		case c == '[' || c == '{':
			if depth++; depth > mostDepth {
				return fmt.Sprintf("values are nested more than %d deep", mostDepth)
			}
		case c == ']' || c == '}':
			depth--
		case c == '"':
			end, whole := stringEnd(action, i+1)
			if !whole {
				return "a text has half a surrogate pair, which is no character"
			}
			i = end
		}
	}
	return ""
}

// stringEnd is where the string that begins at from ends. whole is false when it escapes half a surrogate pair.
func stringEnd(b []byte, from int) (end int, whole bool) {
	high := rune(0) // of a pair whose second half is due next
	for i := from; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			if high != 0 {
				return i, false
			}
			if b[i] == '"' {
				return i, true
			}
			continue
		}
		i++
		if b[i] != 'u' || i+4 >= len(b) {
			if high != 0 {
				return i, false
			}
			continue
		}
		n, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
		r := rune(n)
		i += 4
		switch {
		case err != nil:
		case high != 0 && utf16.DecodeRune(high, r) != '\uFFFD':
			high = 0
		case high != 0 || r >= 0xDC00 && r <= 0xDFFF:
			return i, false
		case utf16.IsSurrogate(r):
			high = r
		}
	}
	return len(b), true
}
