package kern

import "math"

// A float32 product is exact in float64, but x*y+z rounded to float64 and then to float32 is rounded twice.
// That goes wrong in two places only: where the float64 sum lies exactly half way between two float32 values
// (its lower 29 bits are 1000...), for then the bits lost by the first rounding should have broken the tie; and
// where the result is subnormal in float32, for there half way is at other bits.
//
// Elsewhere the second rounding may be done on the bits: half is added, the lower bits are cut off.
const (
	lowBits = 1<<29 - 1
	half    = 1 << 28
	least   = 0x381 << 53           // twice the float64 bits of 2^-126, the least normal float32
	span    = 0x47f<<53 - 0x381<<53 // from there to 2^128, where float32 ends
)

// doubtful takes the bits of a float64 sum plus half and reports whether cutting off the lower ones may go
// wrong: at half way (then they are 0 now) and outside of the normal float32 numbers, 0 excepted.
func doubtful(u uint64) bool { return u&lowBits == 0 || u<<1-least >= span && u<<1 != half<<1 }

// fma32 is x*y+z rounded once to float32.
func fma32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if doubtful(math.Float64bits(s) + half) {
		return fmaOdd(x, y, z)
	}
	return float32(s)
}

// fmaOdd is fma32 by rounding to odd: the float64 sum's exact error (Knuth's TwoSum) says whether the sum was
// rounded; if it was and its last bit is even, the neighbour on the error's side is taken. What is then rounded
// to float32 is right, as 53 >= 24+2 (S. Boldo, G. Melquiond, Emulation of FMA and correctly rounded sums, 2008).
// Whether the compiler fuses the product into a sum makes no difference here: it is exact.
func fmaOdd(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	up := s - p
	lost := (p - (s - up)) + (c - up)
	u := math.Float64bits(s)
	if lost-lost == 0 && lost != 0 && u&1 == 0 { // an infinite sum loses NaN
		if (lost > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
