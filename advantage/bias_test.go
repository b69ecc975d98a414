package advantage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// ledgerOf has groups of 8; end says where each rollout ended.
func ledgerOf(groups int, end func(group, member int) (rl.LeftOut, int)) (l rl.Ledger) {
	for g := range groups {
		for m := range 8 {
			why, tokens := end(g, m)
			s := rl.Slot{Task: rl.TaskID(fmt.Sprint("t", g)), Member: m, LeftOut: why, Tokens: tokens}
			if why != rl.EnvFailed {
				s.Stop = rl.Answered
			}
			l.Slots = append(l.Slots, s)
		}
	}
	return l
}

func TestBias(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		ledger rl.Ledger
		want   []string
	}{
		"nothing is left out": {ledgerOf(16, func(int, int) (rl.LeftOut, int) { return "", 10 }), nil},
		"all is left out":     {ledgerOf(16, func(int, int) (rl.LeftOut, int) { return rl.EnvFailed, 0 }), nil},
		"at random": {ledgerOf(64, func(int, int) (rl.LeftOut, int) {
			if rng.Float64() < .2 {
				return rl.Unscored, rng.IntN(50)
			}
			return "", rng.IntN(50)
		}), nil},
		"no loss": {ledgerOf(16, func(g, _ int) (rl.LeftOut, int) {
			if g < 4 {
				return []rl.LeftOut{rl.ZeroVariance, rl.JudgeFlat}[g%2], 3
			}
			return "", 30
		}), nil},
		"two tasks": {ledgerOf(16, func(g, m int) (rl.LeftOut, int) {
			if g < 2 && m < 6 {
				return rl.EnvFailed, 0
			}
			return "", 10
		}), []string{"what is left out depends on the task: 12 of 128 rollouts are missing, in 2 of 16 groups"}},
		"the long ones": {ledgerOf(16, func(g, m int) (rl.LeftOut, int) {
			if m == 7 {
				return rl.Unscored, 100 + g
			}
			return "", 20 + m
		}), []string{"what is left out depends on the length: 16 rollouts of 108 tokens on average, against 23 in the batch"}},
		"too few to say": {ledgerOf(2, func(g, _ int) (rl.LeftOut, int) {
			if g == 0 {
				return rl.Unscored, 100
			}
			return "", 1
		}), nil},
	} {
		if got := Bias(c.ledger); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Quantiles from tables: 6.635, 23.209, 135.807.
func TestChiSquare(t *testing.T) {
	for df, want := range map[float64]float64{1: 6.635, 10: 23.209, 100: 135.807} {
		if got := chiSquare99(df); math.Abs(got-want) > .02*want {
			t.Errorf("%g degrees: %.3f, want %.3f", df, got, want)
		}
	}
}
