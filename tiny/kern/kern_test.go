package kern

import (
	"fmt"
	"math"
	"math/big"
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

// exactFMA is x*y+z in numbers of any length, rounded once.
func exactFMA(x, y, z float32) float32 {
	b := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	p := b(x)
	p.Mul(p, b(y))
	if p.Sign() == 0 || z == 0 && p.Sign() == 0 {
		return x*y + z
	}
	p.Add(p, b(z))
	if p.Sign() == 0 {
		return 0
	}
	f, _ := p.Float32()
	return f
}

func TestFMA(t *testing.T) {
	for _, c := range []struct {
		why     string
		x, y, z float32
	}{
		{"a tie that the bits beyond float64 break upwards", 1 + 1.0/(1<<23), 1.0 / (1 << 24), 1},
		{"and downwards", 1 - 1.0/(1<<24), 1.0 / (1 << 24), 1},
		{"negative", -1 - 1.0/(1<<23), 1.0 / (1 << 24), -1},
		{"an exact tie to even", 1, 1.0 / (1 << 24), 1},
		{"subnormal tie", math.SmallestNonzeroFloat32, 0.5, 0},
		{"subnormal above tie", 3e-45, 0.5000001, 1.4e-45},
		{"underflow", 1e-30, 1e-30, 0},
		{"overflow", math.MaxFloat32, 2, 0},
	} {
		if got, want := fma32(c.x, c.y, c.z), exactFMA(c.x, c.y, c.z); got != want {
			t.Errorf("%s: %g*%g+%g = %g, want %g", c.why, c.x, c.y, c.z, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	doubts := 0
	for range 200_000 {
		v := numbers(r, 3)
		if r.IntN(2) == 0 { // near a tie: z plus half of its last bit, plus or minus something far below
			half := math.Float32frombits(math.Float32bits(v[2])+1) - v[2]
			v[0], v[1] = half/2*(1+float32(r.IntN(5)-2)/(1<<23)), 1+float32(r.IntN(5)-2)/(1<<23)
		}
		if doubtful(math.Float64bits(float64(v[0])*float64(v[1])+float64(v[2])) + half) {
			doubts++
		}
		if got, want := fma32(v[0], v[1], v[2]), exactFMA(v[0], v[1], v[2]); got != want {
			t.Fatalf("%g*%g+%g = %g, want %g", v[0], v[1], v[2], got, want)
		}
	}
	if doubts < 10_000 {
		t.Errorf("only %d of 200,000 cases were hard", doubts)
	}
}

func sameBits(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Errorf("element %d: %g (%08x) and %g (%08x)", i, a[i], math.Float32bits(a[i]), b[i], math.Float32bits(b[i]))
		}
	}
	return nil
}

// Every mode, number of rows and layout gives the bits of one fused chain per element.
func TestGemmBits(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {1, 5, 7}, {13, 33, 70}, {8, 64, 32}, {16, 128, 96}, {7, 352, 33}, {3, 0, 5}, {0, 3, 5}} {
		m, k, n := size[0], size[1], size[2]
		r := rand.New(rand.NewPCG(uint64(m), uint64(k)))
		a, b, start := numbers(r, m*k), numbers(r, k*n), numbers(r, m*n)
		want := append([]float32{}, start...)
		for i := range m {
			for j := range n {
				for q := range k {
					want[i*n+j] = fma32(a[i*k+q], b[q*n+j], want[i*n+j])
				}
			}
		}
		var packed, fromColumns Panels
		packed.Pack(Matrix{b, n, 1}, k, n)
		fromColumns.Pack(Matrix{transposed(b, k, n), 1, k}, k, n)
		if err := sameBits(packed.Data, fromColumns.Data); err != nil {
			t.Error("Pack:", err)
		}
		eachMode(t, func(mode string) {
			got := append([]float32{}, start...)
			Gemm(Matrix{got, n, 1}, Matrix{a, k, 1}, m, &packed, true)
			if err := sameBits(got, want); err != nil {
				t.Errorf("%s %v: %v", mode, size, err)
			}
			copy(got, start)
			Gemm(Matrix{got, n, 1}, Matrix{transposed(a, m, k), 1, m}, m, &packed, true)
			if err := sameBits(got, want); err != nil {
				t.Errorf("%s %v, a by columns: %v", mode, size, err)
			}
			copy(got, start)
			for i := range m { // row by row
				Gemm(Matrix{got[i*n:], n, 1}, Matrix{a[i*k:], k, 1}, 1, &packed, true)
			}
			if err := sameBits(got, want); err != nil {
				t.Errorf("%s %v, rows alone: %v", mode, size, err)
			}
		})
	}
}

func transposed(v []float32, rows, cols int) []float32 {
	out := make([]float32, len(v))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = v[i*cols+j]
		}
	}
	return out
}

// Without acc the old values of c do not matter, and nothing beside the m x N block is written.
func TestGemmOverwrites(t *testing.T) {
	var p Panels
	p.Pack(Matrix{[]float32{2, 3}, 2, 1}, 1, 2)
	eachMode(t, func(mode string) {
		c := []float32{9, 9, 9, 9, 9, 9}
		Gemm(Matrix{c, 3, 1}, Matrix{[]float32{10, 100}, 1, 1}, 2, &p, false)
		if fmt.Sprint(c) != "[20 30 9 200 300 9]" {
			t.Error(mode, c)
		}
	})
}

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
		{"mmx", best, `LONGHAUL_KERNEL: kernel "mmx" is unknown: want avx512, avx2, neon or portable; using ` + best},
	} {
		start(c.value)
		if mode, err := Mode(); mode != c.mode || fmt.Sprint(err) != c.err {
			t.Errorf("%q: %s, %v", c.value, mode, err)
		}
	}
}

func BenchmarkGemm(b *testing.B) {
	eachMode(b, func(mode string) {
		for _, s := range [][3]int{{256, 128, 384}, {256, 352, 128}, {128, 256, 384}, {16, 128, 384}, {1, 128, 384}} {
			m, k, n := s[0], s[1], s[2]
			b.Run(fmt.Sprintf("%s/%dx%dx%d", mode, m, k, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 1))
				a, w, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				for i := range a {
					a[i] = float32(r.NormFloat64())
				}
				for i := range w {
					w[i] = float32(r.NormFloat64())
				}
				var p Panels
				p.Pack(Matrix{w, n, 1}, k, n)
				for b.Loop() {
					Gemm(Matrix{c, n, 1}, Matrix{a, k, 1}, m, &p, false)
				}
				b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
			})
		}
	})
}

func BenchmarkExp(b *testing.B) {
	eachMode(b, func(mode string) {
		b.Run(mode, func(b *testing.B) {
			x, y := make([]float32, 512), make([]float32, 512)
			for i := range x {
				x[i] = -float32(i) / 16
			}
			for b.Loop() {
				Exp(y, x, 1, 0)
			}
			b.ReportMetric(512*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	})
}
