package nn

import (
	"math"
	"math/rand/v2"
)

// New makes a model of that shape with random weights that follow from the seed alone. A shape that
// Config.Check refuses panics.
func New(c Config, seed int64) *Model {
	if err := c.Check(); err != nil {
		panic(err)
	}
	m := blank(c)
	r := rand.New(rand.NewPCG(uint64(seed), 0x6e6e)) // the second word sets this use apart
	depth := math.Sqrt(float64(2 * c.L))             // residual branches add up over 2L blocks (GPT-2's scaling)
	wide, hidden := 1/math.Sqrt(float64(c.D)), 1/math.Sqrt(float64(c.F))
	fill(r, m.embed, 0.05)
	ones(m.norm)
	for _, l := range m.layers {
		ones(l.norm1)
		ones(l.norm2)
		fill(r, l.qkv, wide)
		fill(r, l.out, wide/depth)
		fill(r, l.gateUp, wide)
		fill(r, l.down, hidden/depth)
	}
	m.Repack()
	return m
}

// fill draws from a normal-like distribution with that standard deviation: the sum of twelve uniform numbers
// less 6, whose variance is 1. Unlike a true normal it needs no logarithm, whose bits differ between machines.
func fill(r *rand.Rand, w []float32, std float64) {
	for i := range w {
		sum := -6.0
		for range 12 {
			sum += r.Float64()
		}
		w[i] = float32(sum * std)
	}
}

func ones(w []float32) {
	for i := range w {
		w[i] = 1
	}
}
