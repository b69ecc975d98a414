package nn

import "testing"

// BenchmarkWarmUp measures an epoch of demonstrations: 32 rows of 60 tokens, on one thread.
func BenchmarkWarmUp(b *testing.B) {
	m, r := New(benchShape, 1), source(1)
	trainer := NewTrainer(m, 1)
	var rows []*Example
	for range 32 {
		e := drawn(r, benchShape, 60, false)
		e.SFT = true
		rows = append(rows, e)
	}
	for b.Loop() {
		if _, err := trainer.Update(rows); err != nil {
			b.Fatal(err)
		}
	}
}
