package reward

import (
	"context"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// byPass answers each pass by its own scores of the attempts a, b, c ...
func byPass(passes ...[]float64) Ask {
	n := 0
	return func(ctx context.Context, q Question) (Reply, error) {
		n++
		return judgeBy(func(text string, _ int) float64 { return passes[n-1][text[2]-'a'] })(ctx, q)
	}
}

// a: .2 and .6, b: .65 twice, gaps of .45 and .05. Between them 2 (.125^2 + .125^2) / 1 = .0625; within, off the means of the
// attempts (.4, .65) and what the passes are kinder by (-.1, .1), 4 x .1^2 / 1 = .04: above the band of 1, and below that of 1.5,
// 2.25 x .04 = .09.
func TestDeadBand(t *testing.T) {
	const flat = "the attempts differ by 0.250, the passes by 0.200: no more than dead_band, 1.5 times that (standard deviations of a score)"
	for _, c := range []struct {
		band   float64
		passes [][]float64
		values string
		flat   string
	}{
		{1, [][]float64{{.2, .65}, {.6, .65}}, "0.4 0.65", ""},
		{1.5, [][]float64{{.2, .65}, {.6, .65}}, "0.525 0.525", flat},
		{0, [][]float64{{.2, .65}, {.6, .65}}, "0.4 0.65", ""},
		{1, [][]float64{{0, 1}, {1, 0}}, "0.5 0.5", "the attempts differ by 0.000, the passes by 1.000: no more than dead_band, 1 times that (standard deviations of a score)"},
		{100, [][]float64{{.25, .75}, {.25, .75}}, "0.25 0.75", ""},       // the passes agree: there is no chance in it
		{1.5, [][]float64{{.5, .6, .7}, {.3, .4, .5}}, "0.4 0.5 0.6", ""}, // they agree on every gap: one is kinder
		{100, [][]float64{{.4, .4}, {.7, .7}}, "0.55 0.55", ""},
		{1, [][]float64{{.5, .5}, {.5, .5}}, "0.5 0.5", ""},
		{1, [][]float64{{0, .5, 1}, {0, .5, 1}, {.5, 0, 1}}, "0.16666666666666666 0.3333333333333333 1", ""},
	} {
		letters := []*rl.Trajectory{said("a"), said("b"), said("c")}[:len(c.passes[0])]
		s := scoresOf(t, judged(func(r *rl.RewardConfig) { r.DeadBand, r.Passes = c.band, len(c.passes) }), groupOf(letters...), byPass(c.passes...))
		if values(s) != c.values || s.Flat != c.flat {
			t.Errorf("band %v, %v: %s, %q", c.band, c.passes, values(s), s.Flat)
		}
	}
}

// The same three scores in other passes are a tie: .1 + .2 + .3 and .3 + .2 + .1 are not the same number.
func TestEqualScoresInOtherPassesAreATie(t *testing.T) {
	s := scoresOf(t, judged(func(r *rl.RewardConfig) { r.DeadBand, r.Passes = 0, 3 }), groupOf(said("a"), said("b")), byPass([]float64{.1, .3}, []float64{.2, .2}, []float64{.3, .1}))
	if s.Scores[0].Value != s.Scores[1].Value {
		t.Errorf("%v", values(s))
	}
}
