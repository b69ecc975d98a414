package rl

import "testing"

// Whatever a server calls its model, and whatever stands in `from`, it is a name that is written again as the same, or an error.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"orders-1@000012", "orders-1@12", "a@-1", "a@+5", "a@99999999999999999999", "@1", "best(a)", "best(a))", "a@000001@2", "A@1", "gpt-4o"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if run, n, err := Version(s).Parse(); err == nil {
			if again, m, err := VersionOf(run, n).Parse(); err != nil || again != run || m != n {
				t.Errorf("version %q is %s, %d, and then %s, %d, %v", s, run, n, again, m, err)
			}
		} else if KindOf(err) != Invalid {
			t.Error(err)
		}
		start, err := ParseStart(s)
		switch {
		case err != nil && KindOf(err) != Invalid:
			t.Error(err)
		case err == nil && !start.Best && !start.Meets(string(VersionOf(start.Run, start.Update))):
			t.Errorf("from %q is %+v, which its own version does not meet", s, start)
		}
	})
}
