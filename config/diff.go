package config

import (
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
)

// Diff says, one line a key, where two configs differ: "update.learning_rate: 0.0005 here, 0.001 in the run".
// It is empty exactly when the configs are equal.
func Diff(here, run rl.Config) (out []string) {
	for _, f := range leaves {
		a, b := f.show(f.in(&here)), f.show(f.in(&run))
		if a == b {
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s here, %s in the run", f.path, orEmpty(a), orEmpty(b)))
	}
	return out
}

func orEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
