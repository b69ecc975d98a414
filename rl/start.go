package rl

import (
	"fmt"
	"regexp"
	"strconv"
)

// Start is where a run's policy comes from that does not warm up, `from` of its run.yaml: a version, or the best of a
// run, which becomes a version when the run is launched.
type Start struct {
	Run    RunID
	Best   bool
	Update UpdateNumber // unless Best
}

// StartPattern is the form of a Start.
const StartPattern = `^(best\(([a-z0-9][a-z0-9._-]{0,62})\)|([a-z0-9][a-z0-9._-]{0,62})@([0-9]{1,6}))$`

var startPattern = regexp.MustCompile(StartPattern)

// ParseStart reads best(RUN) or RUN@VERSION. Errors: Invalid.
func ParseStart(s string) (Start, error) {
	m := startPattern.FindStringSubmatch(s)
	if m == nil {
		return Start{}, Errorf(Invalid, "from", "%q is neither best(RUN) nor RUN@VERSION", s)
	}
	if m[2] != "" {
		return Start{Run: RunID(m[2]), Best: true}, nil
	}
	n, _ := strconv.Atoi(m[4]) // six digits at most
	return Start{Run: RunID(m[3]), Update: UpdateNumber(n)}, nil
}

// Meets reports whether a start as it was recorded, a version, is one that s may have become.
func (s Start) Meets(recorded string) bool {
	r, err := ParseStart(recorded)
	return err == nil && !r.Best && r.Run == s.Run && (s.Best || r.Update == s.Update)
}

// String is the form that ParseStart reads.
func (s Start) String() string {
	if s.Best {
		return fmt.Sprintf("best(%s)", s.Run)
	}
	return string(VersionOf(s.Run, s.Update))
}
