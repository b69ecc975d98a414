package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a config, and where.
type Problem struct {
	File     string `json:"file,omitempty"`   // empty when the config did not come from a file
	Line     int    `json:"line,omitempty"`   // from 1
	Column   int    `json:"column,omitempty"` // in characters, from 1
	Key      string `json:"key,omitempty"`    // "update.learning_rate"
	Found    string `json:"found"`            // in words; never a credential
	Expected string `json:"expected"`
	Hint     string `json:"hint,omitempty"` // the nearest right name, or how to mend it
}

// String is "run.yaml:3:5: group.size: found -1, expected a whole number from 2 to 1024 (hint)".
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString("found " + p.Found)
	if p.Expected != "" {
		b.WriteString(", expected " + p.Expected)
	}
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems is everything wrong with a config, sorted by position. It is the Err of the *rl.Error of kind Invalid that
// Parse and Check return.
type Problems []Problem

// shown bounds the lines of a message: a file that is no run.yaml at all has a problem in every line.
const shown = 25

func (ps Problems) Error() string {
	var b strings.Builder
	b.WriteString(counted(len(ps), "problem"))
	for i, p := range ps {
		if i == shown {
			fmt.Fprintf(&b, "\nand %s more", counted(len(ps)-shown, "problem"))
			break
		}
		b.WriteString("\n" + p.String())
	}
	return b.String()
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// quoted is a text of the file for a message: short, printable, and hidden when it may be a credential.
func quoted(s string) string {
	if secret(s) {
		return fmt.Sprintf("a text of %s that may be a key (not repeated here)", counted(utf8.RuneCountInString(s), "character"))
	}
	return strconv.Quote(short(s))
}

func short(s string) string {
	if utf8.RuneCountInString(s) > 80 {
		return string([]rune(s)[:77]) + "..."
	}
	return s
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
