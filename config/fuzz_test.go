package config

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever `longhaul set` is given, it is refused, or the value is what was asked for, and setting it again changes nothing.
func FuzzChange(f *testing.F) {
	for _, p := range []Pair{{"update.learning_rate", "1e-3"}, {"updates", "00"}, {"group.valid", ".5"}, {"reward.rubric", "a: [b\n"}, {"update.timeout", "1h"}, {"group", ""}, {"guard.metric", "\xff"}, {"name", "x"}} {
		f.Add(p.Key, p.Value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		was := recipe("orders")
		now, what, err := Change(was, []Pair{{key, value}}, names)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid || now != was {
				t.Fatalf("%v, changed %v", err, now != was)
			}
			return
		}
		if len(what) == 0 || what[0].Key != key {
			t.Fatalf("%s=%s changed %+v", key, value, what)
		}
		if again, _, err := Change(now, []Pair{{key, value}}, names); err != nil || again != now {
			t.Fatalf("%s=%s a second time: %v\n%+v\n%+v", key, value, err, again, now)
		}
	})
}
