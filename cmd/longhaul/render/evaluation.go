package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Evaluation is one line: what was played with which version, and how often it succeeded.
func Evaluation(e rl.Evaluation) string {
	line := fmt.Sprintf("%s on %d held-out tasks: greedy %s, sampled %s", e.Version, e.Tasks, Rate(e.Greedy), Rate(e.Sampled))
	failed := 0
	for _, n := range e.Failed {
		failed += n
	}
	if failed > 0 {
		line += fmt.Sprintf("; %s without a score", counted(failed, "episode"))
	}
	return line
}

// Rate is a share with its interval: "97.5 % (94.3 to 98.9)".
func Rate(r rl.Rate) string {
	if r.Of == 0 {
		return "nothing scored"
	}
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*r.Mean, 100*r.Low, 100*r.High)
}

// BeforeAfter compares the evaluations of the first and the last policy of a run, in a small table: greedy, sampled and
// each kind of task (sampled). Intervals are 95 %.
func BeforeAfter(before, after rl.Evaluation) string {
	rows := [][3]string{
		{"held-out success", string(before.Version), string(after.Version)},
		{"greedy", Rate(before.Greedy), Rate(after.Greedy)},
		{"sampled", Rate(before.Sampled), Rate(after.Sampled)},
	}
	for _, kind := range slices.Sorted(maps.Keys(after.ByKind)) {
		rows = append(rows, [3]string{"  " + clean(kind), Rate(before.ByKind[kind]), Rate(after.ByKind[kind])})
	}
	return aligned(rows)
}

func aligned(rows [][3]string) string {
	var w [2]int
	for _, r := range rows {
		for i := range w {
			w[i] = max(w[i], columns(r[i]))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(pad(r[0], w[0]) + "  " + pad(r[1], w[1]) + "  " + r[2] + "\n")
	}
	return b.String()
}
