package advantage

import (
	"math"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// Tolerance is how far values may lie apart (largest minus smallest, relative to the largest magnitude where that is
// above 1) and still count as alike. Rounding in a scorer is no signal: without the tolerance, scores of .1 and
// .1+5e-13 would be normalised to advantages near 1.
const Tolerance = rl.AlikeWithin

func alike(values []float64) bool {
	if len(values) <= 1 {
		return true
	}
	low, high := slices.Min(values), slices.Max(values)
	return high-low <= Tolerance*max(1, math.Abs(low), math.Abs(high))
}

// centred is the values less their mean, and the sum of squares of that. The conversions keep compilers from fusing
// the multiplication into the addition, which would give other bits on other processors.
func centred(values []float64) (deviations []float64, squares float64) {
	mean := 0.0
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	deviations = make([]float64, len(values))
	for i, v := range values {
		deviations[i] = v - mean
		squares += float64(deviations[i] * deviations[i])
	}
	return deviations, squares
}

// divisor is what deviations are divided by, as the settings std and epsilon say it.
type divisor struct {
	none    bool
	lost    float64 // degrees of freedom
	epsilon float64
}

// divisorOf reads the settings. The error is New's, for an unknown std.
func divisorOf(c rl.AdvantageConfig) (divisor, error) {
	switch c.Std {
	case "population":
		return divisor{epsilon: c.Epsilon}, nil
	case "sample":
		return divisor{lost: 1, epsilon: c.Epsilon}, nil
	case "none":
		return divisor{none: true}, nil
	}
	return divisor{}, rl.Errorf(rl.Invalid, "advantage.std", "%q is not one of population, sample, none", c.Std)
}

// of is the divisor for n values whose deviations have the sum of squares.
func (d divisor) of(squares, n float64) float64 {
	if d.none {
		return 1
	}
	return math.Sqrt(squares/(n-d.lost)) + d.epsilon
}

// normalised is (v - mean) / divisor for each value, or nil where the values are alike.
func (d divisor) normalised(values []float64) []float64 {
	if alike(values) {
		return nil
	}
	a, squares := centred(values)
	by := d.of(squares, float64(len(values)))
	for i := range a {
		a[i] /= by
	}
	return a
}
