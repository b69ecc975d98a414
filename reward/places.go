package reward

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// mark begins an attempt in a question, at the beginning of a line: no line that an agent or a tool wrote begins so.
var mark = regexp.MustCompile(`(?m)^\[(\S+) [0-9a-f]{11} begins\]\n`)

// ByPlace is what a reply scores the attempts, in the order in which the question tells them; nil where it is no valid reply.
func ByPlace(q Question, r Reply) []float64 {
	found, err := verdicts(r.Text, q.IDs, nil)
	if err != nil || r.Finish == "length" {
		return nil
	}
	at := map[string]int{}
	for _, m := range q.Messages {
		for place, begins := range mark.FindAllStringSubmatch(m.Content, -1) {
			if _, seen := at[begins[1]]; !seen {
				at[begins[1]] = place
			}
		}
	}
	ids := slices.SortedFunc(slices.Values(q.IDs), func(a, b string) int { return cmp.Or(cmp.Compare(at[a], at[b]), strings.Compare(a, b)) })
	scores := make([]float64, len(ids))
	for place, id := range ids {
		scores[place] = found[id].score
	}
	return scores
}

// EarlyBias is by how much the first half of the places scores above the second, the middle place of an odd number left out. Over
// orders that are reversed in turn, how good the attempts are cancels out, and what is left is the judge's preference for early
// places; ok is false for fewer than two.
func EarlyBias(byPlace []float64) (bias float64, ok bool) {
	half := len(byPlace) / 2
	if half == 0 {
		return 0, false
	}
	return mean(byPlace[:half]) - mean(byPlace[len(byPlace)-half:]), true
}
