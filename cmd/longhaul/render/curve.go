package render

import (
	"fmt"
	"math"
	"strings"
)

// Sparkline draws values between 0 and 1 as one line of characters.
func Sparkline(values []float64, s Style) string {
	levels := []rune(s.pick("▁▂▃▄▅▆▇█", "_.-=+*#@"))
	var b strings.Builder
	for _, v := range values {
		if math.IsNaN(v) {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[max(0, min(len(levels)-1, int(v*float64(len(levels)))))])
	}
	return b.String()
}

// Series is a curve of shares over updates.
type Series struct {
	Name string
	Mark rune // one column wide
	X    []int
	Y    []float64 // from 0 to 1
}

// Curve draws shares over updates 0 to last in a frame of at most width columns and height lines (8 at least). Of
// points on one spot the later series is seen.
func Curve(series []Series, last, width, height int, s Style) string {
	const margin = 6
	w, h := max(width-margin, 10), max(height, 8)-3
	grid := make([][]rune, h)
	for i := range grid {
		grid[i] = []rune(strings.Repeat(" ", w))
	}
	for _, one := range series {
		for i, x := range one.X {
			y := one.Y[i]
			if math.IsNaN(y) || x < 0 || x > max(last, 1) {
				continue
			}
			column := int(math.Round(float64(x) / float64(max(last, 1)) * float64(w-1)))
			row := h - 1 - int(math.Round(max(0, min(1, y))*float64(h-1)))
			grid[row][column] = one.Mark
		}
	}
	var b strings.Builder
	for i, line := range grid {
		label := ""
		switch i {
		case 0:
			label = "100 %"
		case (h - 1) / 2:
			if h%2 == 1 {
				label = "50 %"
			}
		case h - 1:
			label = "0 %"
		}
		b.WriteString(strings.TrimRight(left(label, margin-1)+s.pick("┤", "|")+string(line), " ") + "\n")
	}
	b.WriteString(strings.Repeat(" ", margin-1) + s.pick("└", "+") + strings.Repeat(s.pick("─", "-"), w) + "\n")
	right := fmt.Sprint(last)
	b.WriteString(strings.Repeat(" ", margin) + pad("0", w-len(right)) + right + "\n")
	var names []string
	for _, one := range series {
		names = append(names, string(one.Mark)+" "+one.Name)
	}
	b.WriteString(strings.Repeat(" ", margin) + "update     " + strings.Join(names, "   ") + "\n")
	return b.String()
}
