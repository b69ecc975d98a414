package rl

import (
	"regexp"
	"strconv"
)

// Promote is the rule by which an evaluated checkpoint becomes the best one: METRIC >= best [+|- NUMBER].
type Promote struct {
	Metric string  // success, greedy or sampled
	Offset float64 // added to the best so far; negative tolerates a small loss
}

var promotePattern = regexp.MustCompile(
	`^\s*([a-z]+)\s*>=\s*best\s*(?:([+-])\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*)?$`)

// ParsePromote reads a rule such as "success >= best - 0.01". The error is of kind Invalid.
func ParsePromote(s string) (Promote, error) {
	m := promotePattern.FindStringSubmatch(s)
	if m == nil {
		return Promote{}, Errorf(Invalid, "eval.promote", "%q is not of the form METRIC >= best [+|- NUMBER]", s)
	}
	p := Promote{Metric: m[1]}
	switch p.Metric {
	case "success", "greedy", "sampled":
	default:
		return Promote{}, Errorf(Invalid, "eval.promote", "%q is not a metric; there are success, greedy and sampled", p.Metric)
	}
	if m[3] == "" {
		return p, nil
	}
	offset, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return Promote{}, Errorf(Invalid, "eval.promote", "%s is out of range", m[3])
	}
	if m[2] == "-" {
		offset = -offset
	}
	p.Offset = offset
	return p, nil
}

// Value is the metric of the rule, as an evaluation found it.
func (p Promote) Value(e Evaluation) float64 {
	switch p.Metric {
	case "greedy":
		return e.Greedy.Mean
	case "sampled":
		return e.Sampled.Mean
	}
	return e.Success()
}

// Better reports whether the evaluated version may take the place of one whose metric was best. With no best yet,
// pass negative infinity. Shares of a few hundred tasks are far apart, so a billionth decides like the exact
// decimals would: 0.95 passes "best - 0.01" at a best of 0.96.
func (p Promote) Better(e Evaluation, best float64) bool { return p.Value(e) >= best+p.Offset-1e-9 }

func (p Promote) String() string {
	s := p.Metric + " >= best"
	switch {
	case p.Offset < 0:
		s += " - " + decimal(-p.Offset)
	case p.Offset > 0:
		s += " + " + decimal(p.Offset)
	}
	return s
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
