package advantage

import (
	"math"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Over all outcomes of n attempts by a policy that succeeds with p = sigmoid(theta), whose grad log pi is 1-p for a success
// and -p for a failure, the expected gradient is that of log p's series, cut off after n-1 terms:
// sum over k < n of (1-p)^(k-1) p (1-p).
func TestMaxRLClimbsTheLogLikelihood(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		for _, p := range []float64{.05, .5, .9} {
			want := 0.0
			for k := 1; k < n; k++ {
				want += math.Pow(1-p, float64(k)) * p
			}
			got := 0.0
			for outcomes := range 1 << n {
				scores, gradients, chance := make([]float64, n), make([]float64, n), 1.0
				for i := range n {
					if outcomes>>i&1 == 1 {
						scores[i], gradients[i], chance = 1, 1-p, chance*p
					} else {
						gradients[i], chance = -p, chance*(1-p)
					}
				}
				advantages, _ := ofScores(t, rl.AdvantageConfig{Use: "max_rl"}, scores...)
				for i, a := range advantages {
					got += chance * a * gradients[i] / float64(n)
				}
			}
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%d attempts at %g: %g, not %g", n, p, got, want)
			}
		}
	}
}

// A group that fails throughout, or earns as much below 0 as above, has no likelihood to climb.
func TestMaxRLNeedsASuccess(t *testing.T) {
	for _, scores := range [][]float64{{0, 0}, {-1, 0}, {-1, 1}, {-1, 1, 1e-320}} {
		if got, why := ofScores(t, rl.AdvantageConfig{Use: "max_rl"}, scores...); why != rl.ZeroVariance || got[0] != 0 {
			t.Errorf("%v: %v (%s)", scores, got, why)
		}
	}
}
