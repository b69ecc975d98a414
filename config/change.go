package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// live are the keys, or whole sections, that can be changed while a run goes on. What the others say is part of what a run is:
// what it plays, how its parts fit together, what its evaluations are compared by.
var live = []string{
	"policy.concurrency", "group.quorum", "group.valid", "group.resample", "group.max_staleness", "group.per_activity", "curriculum", "reward", "advantage", "loss",
	"update.learning_rate", "update.minibatches", "update.max_grad_norm", "update.beta1", "update.beta2", "update.weight_decay", "update.ramp",
	"update.final_rate", "update.kl_stop", "updates", "eval.every", "eval.promote", "guard", "checkpoints",
}

// Change sets one key of a complete config to a value given as text, and says what it was. Errors: Invalid when there is no
// such key, when it cannot be changed in a run, or when the value is not of its type; whether the values agree is Check's to say.
func Change(cfg rl.Config, key, value string, names Names) (changed rl.Config, was string, err error) {
	at := slices.IndexFunc(leaves, func(f *field) bool { return f.path == key })
	if at < 0 {
		var paths []string
		for _, f := range leaves {
			paths = append(paths, f.path)
		}
		hint := ""
		if n := nearest(key, paths); n != "" {
			hint = "; did you mean " + n + "?"
		} else if m := meant(key, root); m != "" {
			hint = "; " + m
		}
		return cfg, "", rl.Errorf(rl.Invalid, "set", "there is no key %s%s", quoted(key), hint)
	}
	f := leaves[at]
	if !slices.ContainsFunc(live, func(l string) bool { return key == l || strings.HasPrefix(key, l+".") }) {
		return cfg, "", rl.Errorf(rl.Invalid, "set", "%s cannot be changed in a run; start another one, which may begin `from:` this one's checkpoint", key)
	}
	was = f.show(f.in(&cfg))
	if f.rule.private {
		was = "a value that is not repeated here"
	}
	if hint, ok := f.set(f.in(&cfg), value); !ok {
		return cfg, "", rl.Errorf(rl.Invalid, "set", "%s: found %s, expected %s", key, f.found(quoted(value)), strings.TrimSuffix(fmt.Sprintf("%s (%s)", f.expects(names), hint), " ()"))
	}
	return cfg, was, nil
}
