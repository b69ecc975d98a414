package render

import (
	"fmt"
	"maps"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Evaluation is one line: what was played with which version, and how often it succeeded.
func Evaluation(e rl.Evaluation) string {
	who := string(e.Version)
	if e.Model != "" {
		who = fmt.Sprintf("%s (%s/%s)", e.Model, e.Version, e.Key)
	}
	line := fmt.Sprintf("%s on %d held-out tasks: greedy %s, sampled %s", who, e.Tasks, Rate(e.Greedy), Rate(e.Sampled))
	failed, why := 0, ""
	for _, reason := range slices.Sorted(maps.Keys(e.Failed)) {
		failed += e.Failed[reason]
		why += fmt.Sprintf(", %s %d", reason, e.Failed[reason])
	}
	if failed > 0 {
		line += fmt.Sprintf("; %s without a score%s: `longhaul show %s/%s` says why", counted(failed, "episode"), why, e.Version, e.Key)
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
	rows := [][]string{
		{"held-out success", string(before.Version), string(after.Version)},
		{"greedy", Rate(before.Greedy), Rate(after.Greedy)},
		{"sampled", Rate(before.Sampled), Rate(after.Sampled)},
	}
	for _, kind := range slices.Sorted(maps.Keys(after.ByKind)) {
		rows = append(rows, []string{"  " + kind, Rate(before.ByKind[kind]), Rate(after.ByKind[kind])})
	}
	return Rows(rows)
}
