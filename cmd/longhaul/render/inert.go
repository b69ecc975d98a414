package render

import "regexp"

// controls are the characters that a terminal takes for commands, and the sequences for colours, which it may have.
var controls = regexp.MustCompile(`\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)

// Inert is a text that does nothing to the terminal it is shown on but colour it: models, tools, servers and jobs have written parts of
// it, and could move the cursor, change the title or fill the clipboard.
func Inert(text string) string {
	return controls.ReplaceAllStringFunc(text, func(c string) string {
		switch {
		case len(c) > 1 && c[0] == '\x1b':
			return c
		case c == "\r": // of a progress bar
			return " "
		}
		return "\uFFFD"
	})
}
