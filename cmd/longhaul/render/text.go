package render

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// clean makes foreign text safe for a terminal: control and formatting characters become visible escapes, except line
// breaks; tabs become spaces.
func clean(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.Is(unicode.Cf, r) && r != 0x200d: // such as marks that reverse the direction of text
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// columns is how many columns of a terminal a text takes.
func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r == 0x200d || unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// wrap breaks a clean text into lines of at most w columns (2 at least), at spaces where there are any. There is
// always a line.
func wrap(s string, w int) (lines []string) {
	w = max(w, 2)
	for para := range strings.SplitSeq(s, "\n") {
		line := ""
		for i, word := range strings.Split(para, " ") {
			if i > 0 && columns(line)+1+columns(word) <= w {
				line += " " + word
				continue
			}
			if i > 0 {
				lines, line = append(lines, line), ""
			}
			for columns(word) > w {
				head := fit(word, w)
				lines, word = append(lines, head), word[len(head):]
			}
			line = word
		}
		lines = append(lines, line)
	}
	return lines
}

// fit is the longest beginning of s that takes at most w columns.
func fit(s string, w int) string {
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > w {
			return s[:i]
		}
	}
	return s
}

// shorten cuts s to w columns and marks the cut.
func (st Style) shorten(s string, w int) string {
	if columns(s) <= w {
		return s
	}
	mark := st.pick("…", "~")
	return fit(s, max(0, w-1)) + mark
}

// pad fills s with spaces on the right up to w columns.
func pad(s string, w int) string { return s + strings.Repeat(" ", max(0, w-columns(s))) }

// left fills s with spaces on the left up to w columns.
func left(s string, w int) string { return strings.Repeat(" ", max(0, w-columns(s))) + s }

// Rows lays out a table: columns as wide as their widest cell, two spaces between them, the last one ragged.
func Rows(rows [][]string) string {
	var w []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(w) {
				w = append(w, 0)
			}
			w[i] = max(w[i], columns(clean(cell)))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			line += pad(clean(cell), w[i]) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
