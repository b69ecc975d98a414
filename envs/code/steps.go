package code

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// step is one thing that a task's function does to a list of integers, in words, in Go and in Python.
type step struct {
	words  string
	apply  func([]int) []int
	python string // statements over xs
}

// kinds make a step, with numbers drawn for it.
var kinds = []func(rng *rand.Rand) step{
	func(rng *rand.Rand) step {
		n := 2 + rng.IntN(8)
		return step{fmt.Sprintf("Keep only the multiples of %d (0 is one).", n), keep(func(x int) bool { return x%n == 0 }), fmt.Sprintf("xs = [x for x in xs if x %% %d == 0]", n)}
	},
	func(rng *rand.Rand) step {
		n := rng.IntN(41) - 20
		return step{fmt.Sprintf("Remove every number that is less than %d.", n), keep(func(x int) bool { return x >= n }), fmt.Sprintf("xs = [x for x in xs if x >= %d]", n)}
	},
	func(rng *rand.Rand) step {
		n := 2 + rng.IntN(8)
		return step{fmt.Sprintf("Multiply every number by %d.", n), each(func(x int) int { return x * n }), fmt.Sprintf("xs = [x * %d for x in xs]", n)}
	},
	func(rng *rand.Rand) step {
		n := 1 + rng.IntN(30)
		return step{fmt.Sprintf("Subtract %d from every number.", n), each(func(x int) int { return x - n }), fmt.Sprintf("xs = [x - %d for x in xs]", n)}
	},
	func(rng *rand.Rand) step {
		n := 1 + rng.IntN(5)
		return step{fmt.Sprintf("Drop the first %d numbers, or all where there are fewer.", n), func(xs []int) []int { return xs[min(n, len(xs)):] }, fmt.Sprintf("xs = xs[%d:]", n)}
	},
	func(rng *rand.Rand) step {
		n := 2 + rng.IntN(6)
		return step{fmt.Sprintf("Keep the first %d numbers, or all where there are fewer.", n), func(xs []int) []int { return xs[:min(n, len(xs))] }, fmt.Sprintf("xs = xs[:%d]", n)}
	},
	func(rng *rand.Rand) step {
		n := 2 + rng.IntN(3)
		return step{fmt.Sprintf("Keep only the numbers at the positions 0, %d, %d and so on.", n, 2*n), func(xs []int) (out []int) {
			for i := 0; i < len(xs); i += n {
				out = append(out, xs[i])
			}
			return out
		}, fmt.Sprintf("xs = xs[::%d]", n)}
	},
	func(rng *rand.Rand) step {
		n := 1 + rng.IntN(4)
		return step{fmt.Sprintf("Rotate the list to the left by %d: the first number goes to the end, that many times.", n), func(xs []int) []int {
			if len(xs) == 0 {
				return xs
			}
			k := n % len(xs)
			return slices.Concat(xs[k:], xs[:k])
		}, fmt.Sprintf("k = %d %% len(xs) if xs else 0\nxs = xs[k:] + xs[:k]", n)}
	},
	plain("Reverse the list.", func(xs []int) []int { xs = slices.Clone(xs); slices.Reverse(xs); return xs }, "xs = xs[::-1]"),
	plain("Sort the numbers, the smallest first.", func(xs []int) []int { xs = slices.Clone(xs); slices.Sort(xs); return xs }, "xs = sorted(xs)"),
	plain("Remove every number that was in the list before: keep each one's first place.", func(xs []int) (out []int) {
		for i, x := range xs {
			if !slices.Contains(xs[:i], x) {
				out = append(out, x)
			}
		}
		return out
	}, "seen = []\nfor x in xs:\n    if x not in seen:\n        seen.append(x)\nxs = seen"),
	plain("Replace every number by the sum of all numbers up to it, itself included.", func(xs []int) (out []int) {
		sum := 0
		for _, x := range xs {
			sum += x
			out = append(out, sum)
		}
		return out
	}, "sums = []\nfor x in xs:\n    sums.append(x + (sums[-1] if sums else 0))\nxs = sums"),
	plain("Replace the list by the differences between neighbours, each number less the one before it; the list gets shorter by one.", func(xs []int) (out []int) {
		for i := 1; i < len(xs); i++ {
			out = append(out, xs[i]-xs[i-1])
		}
		return out
	}, "xs = [xs[i] - xs[i - 1] for i in range(1, len(xs))]"),
	plain("Swap the two numbers of every pair: positions 0 and 1, 2 and 3 and so on; a last number without a partner stays.", func(xs []int) []int {
		xs = slices.Clone(xs)
		for i := 0; i+1 < len(xs); i += 2 {
			xs[i], xs[i+1] = xs[i+1], xs[i]
		}
		return xs
	}, "xs = list(xs)\nfor i in range(0, len(xs) - 1, 2):\n    xs[i], xs[i + 1] = xs[i + 1], xs[i]"),
	plain("Replace every negative number by its positive counterpart.", each(func(x int) int { return max(x, -x) }), "xs = [abs(x) for x in xs]"),
}

func plain(words string, apply func([]int) []int, python string) func(*rand.Rand) step {
	return func(*rand.Rand) step { return step{words, apply, python} }
}

func keep(f func(int) bool) func([]int) []int {
	return func(xs []int) (out []int) {
		for _, x := range xs {
			if f(x) {
				out = append(out, x)
			}
		}
		return out
	}
}

func each(f func(int) int) func([]int) []int {
	return func(xs []int) (out []int) {
		for _, x := range xs {
			out = append(out, f(x))
		}
		return out
	}
}

// ending is what a function gives back in the end.
type ending struct {
	words  string
	apply  func([]int) any
	python string
}

var endings = []ending{
	{"Return the list.", func(xs []int) any { return append([]int{}, xs...) }, "return list(xs)"},
	{"Return the sum of the numbers, 0 for none.", func(xs []int) any { return total(xs) }, "return sum(xs)"},
	{"Return how many numbers are left.", func(xs []int) any { return len(xs) }, "return len(xs)"},
	{"Return the largest number, or -1 where none is left.", func(xs []int) any {
		if len(xs) == 0 {
			return -1
		}
		return slices.Max(xs)
	}, "return max(xs) if xs else -1"},
	{"Return the list with a comma between the numbers, as a text without spaces.", func(xs []int) any {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(xs), " ", ","), "[]")
	}, `return ",".join([str(x) for x in xs])`},
}

func total(xs []int) (sum int) {
	for _, x := range xs {
		sum += x
	}
	return sum
}
