package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Signals are the rows of a table that says what an update's rollouts tell: a name and words each.
func Signals(s rl.Signals, style Style) (rows [][]string) {
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Rewards)) {
		add(name, "%.4g on average", s.Rewards[name])
	}
	if len(s.PassAt) > 0 {
		add("pass@k", "%s", PassAt(s))
	}
	add("alike", "solved by all members: %.0f %% of the groups; failed alike by all: %.0f %%%s", 100*s.AlikeSolved, 100*s.AlikeFailed, judged(s))
	add("episodes", "%.1f turns and %.1f tokens on average, %.1f %% cut off", s.Turns, s.Tokens, 100*s.Truncated)
	add("missing", "%.1f %% of the rollouts lost to failures, %.1f %% stale", 100*s.Lost, 100*s.Stale)
	if s.Broken > 0 {
		add("rows", "%.1f %% of the later turns begin a new one: %s", 100*s.Broken, breaks(s))
	}
	if len(s.AdvantageTokens) == len(rl.AdvantageEdges)+1 {
		add("advantages", "%s", Advantages(s.AdvantageTokens, style))
	}
	return rows
}

// breaks is "reasoning_stripped 12.5 %, text_rewritten 1.0 %".
func breaks(s rl.Signals) string {
	var named []string
	for _, way := range s.Broke() {
		named = append(named, fmt.Sprintf("%s %.1f %%", way, 100*s.Breaks[way]))
	}
	return strings.Join(named, ", ")
}

func judged(s rl.Signals) string {
	if s.JudgedAlike == 0 {
		return ""
	}
	return fmt.Sprintf("; not told apart by the judge: %.0f %%", 100*s.JudgedAlike)
}

// PassAt is "1: 0.52, 2: 0.61, 4: 0.70".
func PassAt(s rl.Signals) string {
	var rates []string
	for _, r := range s.PassAt {
		rates = append(rates, fmt.Sprintf("%d: %s", r.K, share(r.Rate)))
	}
	return strings.Join(rates, ", ")
}

// Advantages draws the histogram of a batch's advantages as one line, scaled to its fullest bin, with the bounds between
// the bins. Empty bins at both ends are left out.
func Advantages(tokens []int, style Style) string {
	first := slices.IndexFunc(tokens, func(n int) bool { return n > 0 })
	last := len(tokens) - 1
	for ; last > first && tokens[last] == 0; last-- {
	}
	bins := tokens[max(first, 0) : last+1]
	most := max(slices.Max(bins), 1)
	var b strings.Builder
	for i, n := range bins {
		if at := max(first, 0) + i; i > 0 {
			fmt.Fprintf(&b, " %g ", rl.AdvantageEdges[at-1])
		}
		b.WriteString(Sparkline([]float64{float64(n) / float64(most)}, style))
	}
	return b.String() + fmt.Sprintf("  (%s is %d trained tokens)", Sparkline([]float64{1}, style), most)
}
