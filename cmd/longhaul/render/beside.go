package render

import (
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Column is one side of Beside.
type Column struct {
	Title string
	Episode
}

// Beside shows two episodes side by side, turn against turn, in lines of at most width columns (40 at least). The system
// message is left out: it is the environment's, and the same on both sides.
func Beside(a, b Column, width int, s Style) string {
	bar := s.pick(" │ ", " | ")
	w := (max(width, 40) - columns(bar)) / 2
	var out strings.Builder
	row := func(l, r string) {
		out.WriteString(strings.TrimRight(s.padded(l, w)+s.paint(faint, bar)+r, " ") + "\n")
	}
	row(s.paint(heavy, s.shorten(clean(a.Title), w)), s.paint(heavy, s.shorten(clean(b.Title), w)))
	rule := strings.Repeat(s.pick("─", "-"), w)
	out.WriteString(s.paint(faint, rule+s.pick("─┼─", "-+-")+rule) + "\n")
	scriptA, scriptB := untold(script(a.Trajectory, nil)), untold(script(b.Trajectory, nil))
	for i := range max(len(scriptA), len(scriptB)) {
		zip(at(scriptA, i, w, s), at(scriptB, i, w, s), row)
	}
	zip(laid(ending(a.Episode), w, s), laid(ending(b.Episode), w, s), row)
	return out.String()
}

// untold is a conversation without what the system message told.
func untold(turns [][]part) [][]part {
	if len(turns) > 0 {
		turns[0] = slices.DeleteFunc(turns[0], func(p part) bool { return p.label == string(rl.System) })
	}
	return turns
}

// at is the laid out turn i, nothing when there is none.
func at(turns [][]part, i, w int, s Style) []string {
	if i >= len(turns) {
		return nil
	}
	return laid(turns[i], w, s)
}

func laid(parts []part, w int, s Style) (lines []string) {
	for _, p := range parts {
		lines = append(lines, p.lines(w, s)...)
	}
	return lines
}

func zip(a, b []string, row func(l, r string)) {
	for i := range max(len(a), len(b)) {
		var l, r string
		if i < len(a) {
			l = a[i]
		}
		if i < len(b) {
			r = b[i]
		}
		row(l, r)
	}
}

// padded is pad for a text with colours in it.
func (s Style) padded(text string, w int) string {
	visible := text
	if s.Color {
		visible = uncoloured.Replace(text)
	}
	return text + strings.Repeat(" ", max(0, w-columns(visible)))
}

var uncoloured = strings.NewReplacer("\x1b["+good+"m", "", "\x1b["+bad+"m", "", "\x1b["+faint+"m", "", "\x1b["+heavy+"m", "", "\x1b[0m", "")
