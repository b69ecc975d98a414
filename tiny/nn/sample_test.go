package nn

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A distribution's log-probabilities are those of float64 arithmetic, they sum to one, and the entropy fits.
func TestLogProb(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-40, 40), 1, 600).Draw(t, "logits")
		temperature := rapid.SampledFrom([]float64{0, 0.3, 1, 2.5}).Draw(t, "temperature")
		by := temperature
		if by == 0 {
			by = 1
		}
		var sum float64
		for _, v := range logits {
			sum += math.Exp(float64(v) / by)
		}
		var mass, entropy float64
		for i, v := range logits {
			want := float64(v)/by - math.Log(sum)
			got := float64(LogProbAt(logits, int32(i), temperature))
			if math.Abs(got-want) > 2e-5+1e-7*math.Abs(want) || got > 0 { // a float32 has 7 digits
				t.Fatalf("log-probability %d is %v, want %v", i, got, want)
			}
			mass += math.Exp(got)
			entropy -= math.Exp(want) * want
		}
		if math.Abs(mass-1) > 1e-5 {
			t.Fatalf("the probabilities sum to %v", mass)
		}
		p := make([]float32, len(logits))
		if got := distribute(p, logits, temperature).entropy(p, logits); math.Abs(got-entropy) > 1e-4 {
			t.Fatalf("entropy %v, want %v", got, entropy)
		}
	})
}

func TestDraw(t *testing.T) {
	logits := []float32{0, float32(math.Log(3)), -80, float32(math.Log(4))} // 1/8, 3/8, 0, 4/8
	var scratch []float32
	for _, c := range []struct {
		temperature, u float64
		want           int32
	}{
		{1, 0, 0}, {1, 0.12, 0}, {1, 0.13, 1}, {1, 0.49, 1}, {1, 0.51, 3}, {1, 0.999999, 3},
		{0, 0, 3}, {0, 0.2, 3}, // greedy
		{0.5, 0.03, 0}, {0.5, 0.05, 1}, {0.5, 0.37, 1}, {0.5, 0.4, 3}, // squared: 1, 9, 16 of 26
	} {
		got, logProb := Draw(logits, c.temperature, c.u, &scratch)
		if got != c.want || logProb != LogProbAt(logits, got, c.temperature) {
			t.Errorf("temperature %v, u %v: token %d, %v", c.temperature, c.u, got, logProb)
		}
	}
	if tok, _ := Draw([]float32{2, 5, 5}, 0, 0.9, &scratch); tok != 1 {
		t.Error("greedy did not take the first of equals:", tok)
	}
}
