package nn

import "math"

// The functions here give the same bits on every machine. Go's math.Exp, Log, Sin and Cos do not promise that:
// they are assembly on some machines and left to the compiler's fused multiply-adds on others. Square roots and
// single operations are correctly rounded everywhere.

// exp64 is e^x with a relative error of about 1e-16: 2^k times the Taylor series of e^r, |r| <= ln(2)/2.
// It is 0 under -700 and e^700 over 700: far outside what a ratio of probabilities means.
func exp64(x float64) float64 {
	if x != x {
		return x
	}
	if x < -700 {
		return 0
	}
	x = min(x, 700)
	k := math.RoundToEven(float64(x * math.Log2E))
	const hi = 6.93147180369123816490e-01 // ln 2, the lower 32 bits zero, so that k*hi is exact
	const lo = math.Ln2 - hi
	r := x - float64(k*hi)
	r -= float64(k * lo)
	sum := 1.0
	for n := 14.0; n >= 1; n-- {
		sum = 1 + float64(float64(sum*r)/n)
	}
	return float64(sum * math.Float64frombits(uint64(1023+int64(k))<<52))
}

// log64 is the natural logarithm of a positive normal number, absolute error about 1e-16: with x = 2^k * f,
// f near 1 and s = (f-1)/(f+1), log x = k*ln 2 + 2*(s + s^3/3 + s^5/5 + ...).
func log64(x float64) float64 {
	if !(x > 0) || x > math.MaxFloat64 {
		return math.Log(x) // 0, negative, NaN, +Inf: exact everywhere
	}
	f, k := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, k = f+f, k-1
	}
	s := (f - 1) / (f + 1)
	s2 := float64(s * s)
	sum := 0.0
	for n := 25.0; n >= 1; n -= 2 {
		sum = float64(sum*s2) + 1/n
	}
	return float64(float64(k)*math.Ln2) + float64(2*float64(s*sum))
}

// power is x^n by repeated squaring.
func power(x float64, n int) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = float64(p * x)
		}
		x = float64(x * x)
	}
	return p
}

// sinCos is the sine and cosine of an angle in 0..1, by their Taylor series.
func sinCos(a float64) (sin, cos float64) {
	a2 := float64(a * a)
	sin, cos = 1, 1
	for n := 20.0; n >= 2; n -= 2 {
		cos = 1 - float64(float64(cos*a2)/float64(n*(n-1)))
		sin = 1 - float64(float64(sin*a2)/float64(n*(n+1)))
	}
	return float64(a * sin), cos
}
