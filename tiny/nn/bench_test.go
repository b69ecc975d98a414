package nn

import "testing"

// benchShape is the demo's shape.
var benchShape = Config{V: 264, D: 96, L: 3, F: 256, Ctx: 256}

// BenchmarkUpdate measures the trainer on two threads: 64 rows of 120 tokens an update.
func BenchmarkUpdate(b *testing.B) {
	m, r := New(benchShape, 1), source(1)
	trainer := NewTrainer(m, 2)
	var rows []*Example
	for range 64 {
		rows = append(rows, drawn(r, benchShape, 120, false))
	}
	for b.Loop() {
		if _, err := trainer.Update(rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(64*120*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkSample measures one Runner with 16 sequences, drawing 120 tokens each.
func BenchmarkSample(b *testing.B) {
	m, r := New(benchShape, 1), source(1)
	runner := m.NewRunner()
	seqs, toks := make([]*Seq, 16), make([][]int32, 16)
	for i := range seqs {
		seqs[i] = m.NewSeq()
	}
	var scratch []float32
	for b.Loop() {
		for i := range seqs {
			seqs[i].N, toks[i] = 0, []int32{int32(i)}
		}
		for range 120 {
			logits := runner.Forward(seqs, toks)
			for i := range seqs {
				toks[i][0], _ = Draw(logits[i*m.V:(i+1)*m.V], 1, r.Float64(), &scratch)
			}
		}
	}
	b.ReportMetric(16*120*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
