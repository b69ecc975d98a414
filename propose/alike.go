package propose

import (
	"strings"

	"github.com/longhaul-rl/longhaul/envs/mcp"
)

// Two goals are alike when they share most of what they say: by words, and by pairs of words in a row.
const mostAlike = 0.7

// known are the goals so far, as sets of their words and pairs of words.
type known struct{ sets []map[string]bool }

// alike reports whether a goal is one of the known ones in other words, and otherwise takes it in.
func (k *known) alike(goal string) bool {
	set := parts(goal)
	for _, other := range k.sets {
		if jaccard(set, other) >= mostAlike {
			return true
		}
	}
	k.sets = append(k.sets, set)
	return false
}

func parts(goal string) map[string]bool {
	set := map[string]bool{}
	before := ""
	for word := range strings.FieldsSeq(mcp.Fold(goal)) {
		set[word], set[before+" "+word] = true, true
		before = word
	}
	return set
}

// jaccard is the share of two sets' elements that both have.
func jaccard(a, b map[string]bool) float64 {
	both := 0
	for x := range a {
		if b[x] {
			both++
		}
	}
	if len(a)+len(b) == 0 {
		return 1
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
