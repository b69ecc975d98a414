package advantage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Estimator maps the scores of one group to one advantage each, in the same order. All scores must be finite.
//
// When the group holds no relative information the advantages are exactly 0 and why says so: rl.Singleton for one
// score, rl.ZeroVariance for scores that differ by no more than Tolerance. Otherwise why is empty.
type Estimator func(scores []float64) (advantages []float64, why rl.LeftOut)

// Tolerance is how far the scores of a group may lie apart (largest minus smallest, relative to the largest
// magnitude where that is above 1) and still count as alike. Rounding in a scorer is no signal: without the
// tolerance, scores of .1 and .1+5e-13 would be normalised to advantages near 1.
const Tolerance = 1e-9

// estimators by the name that advantage.use takes.
var estimators = map[string]func(rl.AdvantageConfig) (Estimator, error){}

func register(name string, make func(rl.AdvantageConfig) (Estimator, error)) {
	if _, taken := estimators[name]; taken {
		panic("advantage: two estimators are called " + name)
	}
	estimators[name] = make
}

// New makes the estimator that c asks for. An unknown name, an unknown divisor or an epsilon that is negative or
// not finite is an *rl.Error of kind Invalid that names the right values.
func New(c rl.AdvantageConfig) (Estimator, error) {
	make, ok := estimators[c.Use]
	if !ok {
		return nil, rl.Errorf(rl.Invalid, "advantage.use", "%q is not one of %s", c.Use, strings.Join(Names(), ", "))
	}
	return make(c)
}

// Names lists the registered estimators, sorted.
func Names() []string { return slices.Sorted(maps.Keys(estimators)) }

// guarded wraps a formula in the rules that all estimators share for groups without relative information.
func guarded(formula func(scores []float64) []float64) Estimator {
	return func(scores []float64) ([]float64, rl.LeftOut) {
		switch {
		case len(scores) <= 1:
			return make([]float64, len(scores)), rl.Singleton
		case alike(scores):
			return make([]float64, len(scores)), rl.ZeroVariance
		}
		return formula(scores), ""
	}
}

func alike(scores []float64) bool {
	low, high := slices.Min(scores), slices.Max(scores)
	return high-low <= Tolerance*max(1, math.Abs(low), math.Abs(high))
}

// centred is the scores less their mean, and the sum of squares of that. The conversions keep compilers from
// fusing the multiplication into the addition, which would give other bits on other processors.
func centred(scores []float64) (deviations []float64, squares float64) {
	mean := 0.0
	for _, s := range scores {
		mean += s
	}
	mean /= float64(len(scores))
	deviations = make([]float64, len(scores))
	for i, s := range scores {
		deviations[i] = s - mean
		squares += float64(deviations[i] * deviations[i])
	}
	return deviations, squares
}

func checkEpsilon(epsilon float64) error {
	if !(epsilon >= 0) || math.IsInf(epsilon, 0) {
		return rl.Errorf(rl.Invalid, "advantage.epsilon", "%s is not a finite number of 0 or more", fmt.Sprint(epsilon))
	}
	return nil
}
