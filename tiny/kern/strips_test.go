package kern

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every mode gives the bits of the portable loops, at every length.
func TestStripsBits(t *testing.T) {
	for n := range 70 {
		var want []float32
		eachMode(t, func(mode string) {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			var v [8][]float32
			for i := range v {
				v[i] = numbers(r, n)
			}
			Scale(v[0], v[1], 0.3)
			Norm(v[1], v[2], v[3], 1.7)
			NormBack(v[2], v[3], v[4], v[5], v[6], 0.9, -0.2)
			SwiGLU(v[4], v[5], v[6], v[7])
			SwiGLUBack(v[6], v[7], v[0], v[5], v[1], v[2])
			if n >= 2*lanes {
				Rotate(v[0], v[1], v[2])
			}
			var got []float32
			for _, x := range v {
				got = append(got, x...)
			}
			got = append(got, Max(v[0]))
			if want == nil {
				want = got
			}
			if err := sameBits(got, want); err != nil {
				t.Errorf("%s, %d elements: %v", mode, n, err)
			}
		})
	}
}

func TestMax(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	long := make([]float32, 40)
	for i := range long {
		long[i] = nan
	}
	eachMode(t, func(mode string) {
		for _, c := range []struct {
			in   []float32
			want float32
		}{{nil, -inf}, {[]float32{nan, -3, -2}, -2}, {append(long[:17:17], -5, nan), -5}, {append([]float32{-5}, long...), -5},
			{append(long[:40:40], 7), 7}, {long, -inf}, {[]float32{inf, 1}, inf}} {
			if got := Max(c.in); got != c.want {
				t.Errorf("%s: Max(%v) = %v, want %v", mode, c.in, got, c.want)
			}
		}
	})
}
