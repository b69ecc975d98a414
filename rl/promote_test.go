package rl

import (
	"math"
	"testing"
)

func TestParsePromote(t *testing.T) {
	for in, want := range map[string]Promote{
		"success >= best - 0.01":  {"success", -0.01},
		"success>=best":           {"success", 0},
		"  greedy >= best + .5 ":  {"greedy", 0.5},
		"sampled >= best\t-\t1":   {"sampled", -1},
		"sampled >= best - 00.10": {"sampled", -0.1},
		"success >= best - 0":     {"success", 0},
		"success >= best + 2.":    {"success", 2},
	} {
		got, err := ParsePromote(in)
		if err != nil || got != want {
			t.Errorf("ParsePromote(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "success", "success > best", "reward >= best", "success >= best * 2", "success >= best - -1",
		"success >= best - 1e3", "success >= best - 0.01 and more", "Success >= best", "success >= bestest", "success >= 0.9",
		"success >= best -", "success >= best - nan", "success >= best 0.1"} {
		if p, err := ParsePromote(in); KindOf(err) != Invalid {
			t.Errorf("ParsePromote(%q) = %v, %v; want an error of kind invalid", in, p, err)
		}
	}
}

func TestPromoteBetter(t *testing.T) {
	e := Evaluation{Greedy: Rate{Mean: 0.95}, Sampled: Rate{Mean: 0.97}}
	for _, c := range []struct {
		rule string
		best float64
		want bool
	}{
		{"success >= best - 0.01", 0.96, true},
		{"success >= best - 0.01", 0.965, false},
		{"success >= best", 0.95, true},
		{"sampled >= best", 0.96, true},
		{"greedy >= best", 0.96, false},
		{"sampled >= best + 0.02", 0.95, true},
		{"sampled >= best + 0.02", 0.955, false},
		{"success >= best + 0.5", math.Inf(-1), true},
	} {
		p, err := ParsePromote(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Better(e, c.best); got != c.want {
			t.Errorf("%s at best %v: %v, want %v", c.rule, c.best, got, c.want)
		}
		if again, err := ParsePromote(p.String()); err != nil || again != p {
			t.Errorf("%q reads back as %v, %v", p.String(), again, err)
		}
	}
}

func FuzzParsePromote(f *testing.F) {
	f.Add("success >= best - 0.01")
	f.Add("greedy >= best + .5")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePromote(s)
		if err != nil {
			return
		}
		if again, err := ParsePromote(p.String()); err != nil || again != p {
			t.Errorf("%q: %q reads back as %v, %v", s, p.String(), again, err)
		}
	})
}
