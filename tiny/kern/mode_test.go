package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// eachMode runs the test once for every instruction set of this machine, fastest first.
func eachMode(t testing.TB, f func(mode string)) {
	before, _ := Mode()
	defer SetMode(before)
	for _, mode := range Modes() {
		if err := SetMode(mode); err != nil {
			t.Fatal(err)
		}
		f(mode)
	}
}

// numbers draws values that make rounding hard: normal ones, whole numbers, powers of two one bit off, zeros,
// tiny and subnormal ones.
func numbers(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		switch r.IntN(8) {
		case 0:
			v[i] = float32(r.IntN(17) - 8)
		case 1:
			v[i] = float32(math.Ldexp(1+float64(r.IntN(3)-1)/(1<<23), r.IntN(40)-20))
		case 2:
			v[i] = float32(math.Ldexp(r.NormFloat64(), -r.IntN(140)))
		default:
			v[i] = float32(r.NormFloat64())
		}
	}
	return v
}

func TestSetMode(t *testing.T) {
	before, err := Mode()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "sse", "AVX2"} {
		if err := SetMode(bad); err == nil || !strings.Contains(err.Error(), "want avx512, avx2, neon or portable") {
			t.Errorf("SetMode(%q): %v", bad, err)
		}
	}
	for name := range names {
		err := SetMode(name)
		if known := strings.Contains(strings.Join(Modes(), " "), name); known != (err == nil) {
			t.Errorf("SetMode(%q): %v with %v", name, err, Modes())
		}
	}
	if err := SetMode(before); err != nil {
		t.Error(err)
	}
}

func TestVariable(t *testing.T) {
	before, _ := Mode()
	defer start(before)
	best := Modes()[0]
	for _, c := range []struct{ value, mode, err string }{
		{"", best, "<nil>"},
		{"portable", "portable", "<nil>"},
		{"mmx", best, `LONGHAUL_KERNEL: kernel "mmx" is unknown: want avx512, avx2, neon or portable`},
	} {
		start(c.value)
		if mode, err := Mode(); mode != c.mode || fmt.Sprint(err) != c.err {
			t.Errorf("%q: %s, %v", c.value, mode, err)
		}
	}
}
