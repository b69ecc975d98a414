package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Check says what is wrong with a complete config that did not come from a file, for example after a flag has
// changed it. The error is as Parse's, without positions.
func Check(cfg rl.Config, names Names) error {
	var ps Problems
	for _, w := range wrongs(cfg, names) {
		ps = append(ps, Problem{Key: w.paths[0], Found: w.found, Expected: w.expected, Hint: w.hint})
	}
	if len(ps) == 0 {
		return nil
	}
	return &rl.Error{Kind: rl.Invalid, At: "config", Err: ps}
}

// wrong is a value that breaks a rule, or values that do not agree.
type wrong struct {
	paths                 []string // the key at fault first; where it is not in the file, the next is pointed at
	found, expected, hint string
}

// wrongs checks every key by itself, then what keys must agree on.
func wrongs(cfg rl.Config, names Names) (out []wrong) {
	broken := map[string]bool{}
	for _, f := range leaves {
		if w, ok := f.check(&cfg, names); !ok {
			broken[f.path] = true
			out = append(out, w)
		}
	}
next:
	for _, a := range agreements {
		w, ok := a(cfg)
		if ok {
			continue
		}
		for _, p := range w.paths {
			if broken[p] {
				continue next
			}
		}
		out = append(out, w)
	}
	return out
}

func (f *field) check(cfg *rl.Config, names Names) (wrong, bool) {
	v := f.in(cfg)
	w := wrong{paths: []string{f.path}, found: f.show(v), expected: f.expects(names)}
	if f.unset(*cfg) {
		w.found = "nothing"
		return w, !f.rule.required
	}
	switch f.kind {
	case text:
		w.found = f.found(quoted(v.String()))
		if f.rule.names != nil {
			if n := nearest(v.String(), f.rule.names(names)); n != "" {
				w.hint = "did you mean " + n + "?"
			}
		}
		return w, f.rule.allows(v.String(), names)
	case whole:
		return w, f.rule.holds(float64(v.Int()))
	case seed:
		return w, f.rule.holds(float64(v.Uint())) && v.Uint() <= exact
	case number:
		return w, f.rule.holds(v.Float())
	case duration:
		return w, f.rule.holds(time.Duration(v.Int()).Seconds())
	}
	r := v.Interface().(rl.TaskRange)
	return w, r.First >= 0 && r.First <= r.Last && f.rule.holds(float64(r.Last))
}

// unset reports whether the field's zero means that it was left out: an empty text, or a key of the other policy.
func (f *field) unset(cfg rl.Config) bool {
	v := f.in(&cfg)
	return (f.kind == text || f.optional) && v.IsZero()
}

// missing reports required keys that the file does not have.
func (d *decoder) missing() {
	for _, f := range leaves {
		if _, given := d.at[f.path]; given || !f.rule.required || d.bad[f.path] {
			continue
		}
		d.bad[f.path] = true
		at, where := position{1, 1}, "at the top"
		if p, ok := d.at[f.parent.path]; ok {
			at, where = p, "in "+f.parent.path
		}
		expected := fmt.Sprintf("%s: %s", f.path[strings.LastIndexByte(f.path, '.')+1:], f.expects(d.names))
		d.report(at, f.path, "no such key "+where, expected, "this key has no default")
	}
}
