package kern

import "math"

// The exponential is 2^n * p(t) with n = round(x/ln 2), t = x - n*ln 2 in two steps and p the polynomial of
// Cephes' expf (S. Moshier), relative error under 2e-7. The assembly uses the same constants.
const (
	expLow  = -87 // below: 0
	expHigh = 88  // above: exp(88)
	log2e   = 1.44269504088896341
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
)

var expPoly = [...]float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
	5.0000001201e-1, 1, 1}

const lanes = 16

// Exp writes exp(src*mul - sub) to dst, which has src's length and may be src, and returns the sum of what it
// wrote. Arguments under -87 (and NaN) give exactly 0, those over 88 give exp(88). The sum runs in 16 lanes,
// element i in lane i%16, which are then added pairwise; so it depends on nothing but the values.
func Exp(dst, src []float32, mul, sub float32) float32 {
	var sums [lanes]float32
	whole := len(src) &^ (lanes - 1)
	if whole > 0 {
		expBlocks(dst[:whole], src[:whole], mul, sub, &sums)
	}
	for i := whole; i < len(src); i++ {
		dst[i] = exp32(src[i], mul, sub)
		sums[i-whole] += dst[i]
	}
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			sums[i] += sums[i+w]
		}
	}
	return sums[0]
}

func expPortable(dst, src []float32, mul, sub float32, sums *[lanes]float32) {
	for i, x := range src {
		e := exp32(x, mul, sub)
		dst[i] = e
		sums[i%lanes] += e
	}
}

func exp32(x, mul, sub float32) float32 {
	x = fma32(x, mul, -sub)
	if !(x >= expLow) {
		return 0
	}
	x = min(x, expHigh)
	n := float32(math.RoundToEven(float64(x * log2e)))
	t := fma32(-ln2High, n, x)
	t = fma32(-ln2Low, n, t)
	p := expPoly[0]
	for _, c := range expPoly[1:] {
		p = fma32(p, t, c)
	}
	return math.Float32frombits(uint32(int32(math.Float32bits(p)) + int32(n)<<23))
}
