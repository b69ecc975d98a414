package simjudge

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// prompt is what a judge is asked.
type prompt struct {
	text     string // of the user message
	forced   bool   // no two scores may be the same
	perTurn  bool   // contributions of turns are asked for
	attempts []attempt
}

// attempt is one conversation, its shared beginning included.
type attempt struct {
	id    string
	lines []line
}

// line is what was said in one place: its mark, and its text with the line breaks it had.
type line struct {
	mark byte
	text string
}

// The parts of a prompt; see reward/prompt.go and reward/render.go.
const (
	shared   = "\n# The beginning of all attempts\n"
	attempts = "\n# The attempts\n"
	distinct = "No two attempts may get the same score."
	turns    = `"turns":[`
)

var begins = regexp.MustCompile(`^\[([A-Z0-9]+) ([0-9a-f]{11}) begins\]\n`)

// promptOf reads a prompt from the first two messages; those that follow ask for it again.
func promptOf(all []message) (prompt, error) {
	if len(all) < 2 || all[0].Role != string(rl.System) || all[1].Role != string(rl.User) {
		return prompt{}, errNotOurs
	}
	p := prompt{text: all[1].Content, forced: strings.Contains(all[0].Content, distinct), perTurn: strings.Contains(all[0].Content, turns)}
	_, rest, ok := strings.Cut(p.text, shared)
	beginning, rest, cut := strings.Cut(rest, attempts)
	if !ok || !cut {
		return prompt{}, errNotOurs
	}
	for rest != "" {
		m := begins.FindStringSubmatch(rest)
		if m == nil {
			return prompt{}, errNotOurs
		}
		own, after, ok := strings.Cut(rest[len(m[0]):], "["+m[1]+" "+m[2]+" ends]\n")
		if !ok {
			return prompt{}, errNotOurs
		}
		p.attempts = append(p.attempts, attempt{id: m[1], lines: linesOf(beginning + "\n" + own)})
		rest = after
	}
	return p, nil
}

// linesOf takes a rendered conversation apart. A line that begins with two spaces goes on with the one before.
func linesOf(text string) (out []line) {
	for l := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(l, "  ") && len(out) > 0:
			out[len(out)-1].text += "\n" + l[2:]
		case len(l) >= 2 && l[1] == ' ':
			out = append(out, line{l[0], l[2:]})
		}
	}
	return out
}

var numbered = regexp.MustCompile(`^\(turn (\d+)\) `)

// action takes the turn's number off what an agent said or called, where there is one; else it is -1.
func (l line) action() (turn int, text string) {
	m := numbered.FindStringSubmatch(l.text)
	if m == nil {
		return -1, l.text
	}
	turn, _ = strconv.Atoi(m[1]) // digits
	return turn, l.text[len(m[0]):]
}
