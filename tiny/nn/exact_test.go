package nn

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func relative(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

func TestExactFunctions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		if e := relative(exp64(x), math.Exp(x)); e > 5e-16 {
			t.Fatalf("exp(%v) = %v, off by %v", x, exp64(x), e)
		}
		y := math.Exp(rapid.Float64Range(-700, 700).Draw(t, "log y"))
		if got, want := log64(y), math.Log(y); math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Fatalf("log(%v) = %v, want %v", y, got, want)
		}
		a := rapid.Float64Range(0, 1).Draw(t, "angle")
		if s, c := sinCos(a); math.Abs(s-math.Sin(a)) > 3e-16 || math.Abs(c-math.Cos(a)) > 3e-16 {
			t.Fatalf("sin, cos of %v = %v, %v", a, s, c)
		}
		b, n := rapid.Float64Range(0, 1).Draw(t, "base"), rapid.IntRange(0, 1000).Draw(t, "n")
		if got, want := power(b, n), math.Pow(b, float64(n)); want > 1e-300 && relative(got, want) > 1e-12 {
			t.Fatalf("%v^%d = %v, want %v", b, n, got, want)
		}
	})
	for x, want := range map[float64]float64{0: 1, -701: 0, math.Inf(-1): 0} {
		if got := exp64(x); got != want {
			t.Errorf("exp(%v) = %v", x, got)
		}
	}
	if log64(1) != 0 || !math.IsInf(log64(0), -1) || !math.IsNaN(log64(-1)) || !math.IsNaN(exp64(math.NaN())) {
		t.Error("log(1), log(0), log(-1), exp(NaN) =", log64(1), log64(0), log64(-1), exp64(math.NaN()))
	}
}

// The very bits, which must be the same on every machine.
func TestExactBits(t *testing.T) {
	s, c := sinCos(0.7)
	for _, v := range []struct {
		what      string
		got, want uint64
	}{
		{"exp(-1.3)", math.Float64bits(exp64(-1.3)), 0x3fd17129308ce281},
		{"exp(0.1)", math.Float64bits(exp64(0.1)), 0x3ff1aec7b35a00d4},
		{"log(264)", math.Float64bits(log64(264)), 0x40164dc59a08b222},
		{"sin(0.7)", math.Float64bits(s), 0x3fe49d6e694619b8},
		{"cos(0.7)", math.Float64bits(c), 0x3fe87996529f9d93},
	} {
		if v.got != v.want {
			t.Errorf("%s has the bits %#016x, want %#016x", v.what, v.got, v.want)
		}
	}
}

func TestRotaryTable(t *testing.T) {
	cos, sin := rotary(2048)
	for at := range 2048 {
		for i := range 16 {
			angle := float64(at) * math.Pow(RopeTheta, -float64(2*i)/headSize)
			c, s := cos[at*16+i], sin[at*16+i]
			if math.Abs(float64(c)-math.Cos(angle)) > 1e-7 || math.Abs(float64(s)-math.Sin(angle)) > 1e-7 {
				t.Fatalf("position %d, pair %d: %v, %v", at, i, c, s)
			}
		}
	}
}
