package kern

import "math"

// A float32 product is exact in float64, but x*y+z rounded to float64 and then to float32 is rounded twice.
// That goes wrong in two places only: where the float64 sum lies exactly half way between two float32 values
// (its lower 29 bits are 1000...), for then the bits lost by the first rounding should have broken the tie; and
// where the result is subnormal in float32, for there half way is at other bits.
const (
	lowBits = 1<<29 - 1
	halfWay = 1 << 28
	tiny    = 0x381 << 52 // float64 bits of 2^-126, the least normal float32
)

// doubtful reports whether the float64 sum s may lie where rounding it again to float32 goes wrong. An exact 0
// is safe (the subtraction of 1 wraps it to the top).
func doubtful(s float64) bool {
	u := math.Float64bits(s)
	return u&lowBits == halfWay || u<<1-1 < tiny<<1-1
}

// fma32 is x*y+z rounded once to float32.
func fma32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if doubtful(s) {
		return fmaOdd(x, y, z)
	}
	return float32(s)
}

// fmaOdd is fma32 by rounding to odd: the float64 sum's exact error (Knuth's TwoSum) says whether the sum was
// rounded; if it was and its last bit is even, the neighbour on the error's side is taken. What is then rounded
// to float32 is right, as 53 >= 24+2 (S. Boldo, G. Melquiond, Emulation of FMA and correctly rounded sums, 2008).
func fmaOdd(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	up := s - p
	lost := (p - (s - up)) + (c - up)
	u := math.Float64bits(s)
	if lost != 0 && u&1 == 0 {
		if (lost > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
