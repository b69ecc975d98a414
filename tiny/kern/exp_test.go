package kern

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	x := []float32{0, 1, -1, -87, -87.00001, 88, 89, 1000, float32(math.Inf(-1)), float32(math.Inf(1)), float32(math.NaN()), 1e-30}
	for len(x) < 1003 {
		x = append(x, float32(r.NormFloat64()*30))
	}
	var first []float32
	var firstSum float32
	eachMode(t, func(mode string) {
		y := make([]float32, len(x))
		sum := Exp(y, x, 1, 0)
		if first == nil {
			first, firstSum = y, sum
		}
		if err := sameBits(y, first); err != nil || sum != firstSum {
			t.Errorf("%s: %v, sum %g want %g", mode, err, sum, firstSum)
		}
		for i, v := range x {
			want := math.Exp(min(float64(v), 88))
			if v < -87 || v != v {
				want = 0
			}
			if math.Abs(float64(y[i])-want) > 2e-7*want {
				t.Fatalf("%s: exp(%g) = %g, want %g", mode, v, y[i], want)
			}
		}
		odd := make([]float32, 37)
		Exp(odd, x[20:57], 0.7, 3)
		for i := range odd {
			one := []float32{x[20+i]}
			Exp(one, one, 0.7, 3)
			if one[0] != odd[i] {
				t.Fatalf("%s: element %d alone is %g, in a row %g", mode, i, one[0], odd[i])
			}
		}
	})
}
