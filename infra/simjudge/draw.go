package simjudge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// draw makes scores from comparisons of all pairs: (wins + ties/2)/(n-1). The same prompt with the same seed gives the same.
func (o Options) draw(exact []float64, p prompt, seed uint64) []float64 {
	seed = rl.Seed(seed, "simulated judge", p.text)
	rng := rand.New(rand.NewPCG(seed, 0))
	n := len(exact)
	if n == 1 {
		return []float64{.5}
	}
	points := make([]float64, n)
	for i := range n {
		for k := i + 1; k < n; k++ {
			won := float64(o.relation(exact[i], exact[k], rng)+1) / 2
			points[i], points[k] = points[i]+won, points[k]+1-won
		}
	}
	if p.forced {
		return ranks(points, rng)
	}
	for i := range points {
		points[i] /= float64(n - 1)
	}
	return points
}

// relation is what the judge says of an attempt and a later one: 1 when the first is better, -1 when it is worse, 0 for a tie.
func (o Options) relation(first, later float64, rng *rand.Rand) int {
	truth := cmp.Compare(first, later)
	if rng.Float64() < o.Bias {
		return 1
	}
	if rng.Float64() >= o.Noise {
		return truth
	}
	others := slices.DeleteFunc([]int{-1, 0, 1}, func(r int) bool { return r == truth })
	return others[rng.IntN(len(others))]
}

// ranks are distinct scores in the order of points; which of equals is better is a toss.
func ranks(points []float64, rng *rand.Rand) []float64 {
	order := rng.Perm(len(points))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(points[a], points[b]) })
	out := make([]float64, len(points))
	for rank, i := range order {
		out[i] = float64(rank) / float64(len(points)-1)
	}
	return out
}

// verdict is an entry of the reply.
type verdict struct {
	ID     string    `json:"id"`
	Reason string    `json:"reason"`
	Score  float64   `json:"score"`
	Turns  []float64 `json:"turns,omitzero"`
}

// verdicts is the reply to a prompt. A bad one lacks its last id.
func (p prompt) verdicts(exact, scores []float64, bad bool) string {
	all := make([]verdict, len(p.attempts))
	for i, a := range p.attempts {
		all[i] = verdict{ID: a.id, Reason: fmt.Sprintf("%d calls", a.calls()), Score: scores[i]}
		if p.perTurn {
			all[i].Turns = a.turns(exact[i])
		}
	}
	if bad {
		all = all[:len(all)-1]
	}
	b, err := json.Marshal(map[string]any{"scores": all})
	if err != nil {
		panic(err) // finite numbers and texts
	}
	return string(b)
}

func (a attempt) calls() (n int) {
	for _, l := range a.lines {
		if l.mark == '>' {
			n++
		}
	}
	return n
}

// turns is what each turn contributed: in an attempt that succeeded 1 where its call told something, in one that failed 1 where it
// did not.
func (a attempt) turns(exact float64) []float64 {
	out := []float64{}
	turn := 0
	for _, l := range a.lines {
		switch l.mark {
		case '.', '>':
			if n, _ := l.action(); n >= 0 {
				turn = n
			}
			for len(out) <= turn {
				out = append(out, 0)
			}
		case '<':
			told := l.text != "busy" && l.text != "none" && !strings.HasPrefix(l.text, "bad call")
			if told == (exact > 0) && len(out) > 0 {
				out[turn] = 1
			}
		}
	}
	return out
}
