package code

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// The numbers of the tasks that are made here.
const (
	fewestSteps = 2
	mostSteps   = 4
	madeTests   = 12
	heldOut     = 5 // one in so many functions is kept for evaluation
)

// made is the task of a split with an index. A function is held out for evaluation or not by a hash of what it does, so
// no function of one side is met on the other.
func made(split rl.Split, index int) problem {
	rng := rand.New(rand.NewPCG(rl.Seed(0, "code", split, index), 0))
	for {
		var steps []step
		for range fewestSteps + rng.IntN(mostSteps-fewestSteps+1) {
			steps = append(steps, kinds[rng.IntN(len(kinds))](rng))
		}
		end := endings[rng.IntN(len(endings))]
		var what []string
		for i, s := range steps {
			what = append(what, fmt.Sprintf("%d. %s", i+1, s.words))
		}
		words := strings.Join(append(what, fmt.Sprintf("%d. %s", len(steps)+1, end.words)), "\n")
		h := fnv.New64a()
		h.Write([]byte(words))
		if (h.Sum64()%heldOut == 0) != (split == rl.Eval) {
			continue
		}
		p := problem{Split: split, Kind: fmt.Sprintf("%d_steps", len(steps)), Module: "solution", Function: "transform", Reference: reference(steps, end), fact: words}
		f := func(xs []int) any {
			for _, s := range steps {
				xs = s.apply(xs)
			}
			return end.apply(xs)
		}
		varied := map[string]bool{}
		for _, xs := range inputs(rng) {
			want := rl.CanonicalJSON(f(xs))
			varied[string(want)] = true
			p.Tests = append(p.Tests, test{Args: rl.CanonicalJSON([]any{xs}), Want: want})
		}
		if len(varied) < madeTests/2 { // a constant would do
			continue
		}
		shown := p.Tests[len(p.Tests)-1]
		p.Tests = p.Tests[:len(p.Tests)-1]
		p.Goal = fmt.Sprintf("Write the file solution.py with a function transform(xs). It is given a list of integers and does this, in this order:\n%s\n\nFor example, transform(%s) returns %s. When the file is done, call submit: hidden tests then decide.",
			words, strings.TrimSuffix(strings.TrimPrefix(string(shown.Args), "["), "]"), shown.Want)
		return p
	}
}

// inputs are lists to try a function with: none, one and a few numbers, with repetitions; the last one is to be shown.
func inputs(rng *rand.Rand) (out [][]int) {
	for i := range madeTests + 1 {
		n := 4 + rng.IntN(9)
		if i < 2 {
			n = i
		}
		xs := make([]int, n)
		for j := range xs {
			xs[j] = rng.IntN(61) - 30
			if j > 0 && rng.IntN(4) == 0 {
				xs[j] = xs[rng.IntN(j)]
			}
		}
		out = append(out, xs)
	}
	return out
}

// reference is a solution.
func reference(steps []step, end ending) string {
	body := ""
	for _, s := range steps {
		body += s.python + "\n"
	}
	body += end.python
	return "def transform(xs):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n"
}
