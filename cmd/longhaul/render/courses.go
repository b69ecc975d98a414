package render

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Courses are the rows of a table, with its head, of the rewards that scores are made of: each one's mean in the first and in
// the last update that has it, and in between as a line from its least value to its greatest. Nil where there are none.
func Courses(all []rl.UpdateSummary, s Style) (rows [][]string) {
	means := map[string][]float64{} // by update; NaN where it has none
	for i, u := range all {
		if u.Signals == nil {
			continue
		}
		for name, v := range u.Signals.Rewards {
			if means[name] == nil {
				means[name] = slices.Repeat([]float64{math.NaN()}, len(all))
			}
			means[name][i] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(means)) {
		known := slices.DeleteFunc(slices.Clone(means[name]), math.IsNaN)
		low, high := slices.Min(known), slices.Max(known)
		span := high - low
		if span == 0 { // it stayed what it was: a line at the bottom
			span = 1
		}
		line := thinned(means[name], mostColumns)
		for i, v := range line {
			line[i] = (v - low) / span
		}
		rows = append(rows, []string{name, fmt.Sprintf("%.3f", known[0]), fmt.Sprintf("%.3f", known[len(known)-1]), fmt.Sprintf("%.3f to %.3f", low, high), Sparkline(line, s)})
	}
	if rows == nil {
		return nil
	}
	return slices.Insert(rows, 0, []string{"COMPONENT", "FIRST", "LAST", "RANGE", "OVER UPDATES"})
}

// mostColumns bounds a line in a table.
const mostColumns = 40

// thinned are at most so many means of neighbouring values, those that are NaN left out.
func thinned(values []float64, most int) (out []float64) {
	n := min(len(values), most)
	for i := range n {
		sum, count := 0.0, 0.0
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if !math.IsNaN(v) {
				sum, count = sum+v, count+1
			}
		}
		out = append(out, sum/count) // NaN without any
	}
	return out
}
