package kern

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

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
	inf := float32(math.Inf(1))
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
		{"overflow by rounding", math.MaxFloat32, 1, 1e31},
		{"infinite", inf, 2, 1},
		{"minus infinite", inf, -2, 1},
		{"minus infinite sum", 1, 1, -inf},
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
