package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// live are the keys, or whole sections, that can be changed while a run goes on. What the others say is part of what a run is:
// what it plays, how its parts fit together, what its evaluations are compared by.
var live = []string{
	"policy.url", "policy.concurrency", "group.quorum", "group.valid", "group.resample", "group.max_staleness", "group.per_activity", "curriculum", "reward", "advantage", "loss",
	"update.learning_rate", "update.minibatches", "update.max_grad_norm", "update.beta1", "update.beta2", "update.weight_decay", "update.ramp",
	"update.final_rate", "update.kl_stop", "update.timeout", "update.usd_hour", "update.kubernetes", "update.sagemaker", "updates", "eval.every", "eval.promote", "guard", "checkpoints",
}

// Pair is a key and the value that it is to have, as text.
type Pair struct{ Key, Value string }

// Changed is a key that has been given a value, and what it was and is, as texts; empty: nothing.
type Changed struct {
	Key, Was, Is string
	Followed     bool // nobody asked for it: it is the default that goes with what was asked for
}

// Change sets keys of a complete config, and says what each was: first those of the pairs, in order, then those that follow. As in
// run.yaml, a key that nobody has chosen a value for has the default that goes with the others: one that had its default before,
// and is not among the pairs, has it afterwards. Where no judge takes part any more, the judge's keys are taken away. Errors: Invalid
// when there is no such key, when it cannot be changed in a run, or when the value is not of its type; whether the values agree is
// Check's to say.
func Change(cfg rl.Config, pairs []Pair, names Names) (changed rl.Config, what []Changed, err error) {
	changed = cfg
	given := map[string]bool{}
	for _, p := range pairs {
		f, err := p.set(&changed, names)
		if err != nil {
			return cfg, nil, err
		}
		given[p.Key] = true
		what = append(what, Changed{p.Key, f.told(cfg), f.told(changed), false})
	}
	follow(&changed, cfg, func(path string) bool { return given[path] })
	for _, f := range leaves {
		if was, is := f.told(cfg), f.told(changed); !given[f.path] && f.show(f.in(&cfg)) != f.show(f.in(&changed)) {
			what = append(what, Changed{f.path, was, is, true})
		}
	}
	return changed, what, nil
}

// set writes the value into a config.
func (p Pair) set(cfg *rl.Config, names Names) (*field, error) {
	at := slices.IndexFunc(leaves, func(f *field) bool { return f.path == p.Key })
	if at < 0 {
		var paths []string
		for _, f := range leaves {
			paths = append(paths, f.path)
		}
		hint := ""
		if n := nearest(p.Key, paths); n != "" {
			hint = "; did you mean " + n + "?"
		} else if m := meant(p.Key, root); m != "" {
			hint = "; " + m
		}
		return nil, rl.Errorf(rl.Invalid, "set", "there is no key %s%s", quoted(p.Key), hint)
	}
	f := leaves[at]
	if !f.live() {
		return nil, rl.Errorf(rl.Invalid, "set", "%s cannot be changed in a run; start another one, which may begin `from:` this one's checkpoint", p.Key)
	}
	if hint, ok := f.set(f.in(cfg), p.Value); !ok {
		return nil, rl.Errorf(rl.Invalid, "set", "%s: found %s, expected %s", p.Key, f.found(quoted(p.Value)), strings.TrimSuffix(fmt.Sprintf("%s (%s)", f.expects(names), hint), " ()"))
	}
	return f, nil
}

func (f *field) live() bool {
	return slices.ContainsFunc(live, func(l string) bool { return f.path == l || strings.HasPrefix(f.path, l+".") })
}

// told is the field's value in words that may be repeated.
func (f *field) told(cfg rl.Config) string {
	switch {
	case f.unset(cfg):
		return ""
	case f.rule.private:
		return "a value that is not repeated here"
	}
	return f.show(f.in(&cfg))
}

// follow gives the keys that had their default in a config the one that they have in what it was changed to.
func follow(c *rl.Config, was rl.Config, given func(path string) bool) {
	judge := map[string]bool{}
	for _, k := range judgeKeys(c.Reward) {
		judge["reward."+k.key] = true
	}
	for _, f := range leaves {
		switch {
		case given(f.path) || !f.live():
		case judge[f.path] && !c.Reward.Judges():
			f.in(c).SetZero()
		case f.unset(was) || f.show(f.in(&was)) == f.show(f.usual(was)):
			f.in(c).Set(f.usual(*c))
		}
	}
}

// usual is the field's default beside the other values of a config.
func (f *field) usual(c rl.Config) reflect.Value {
	standard := recipe(c.Env.Use)
	f.in(&c).Set(f.in(&standard))
	fit(&c, func(path string) bool { return path != f.path })
	return f.in(&c)
}
