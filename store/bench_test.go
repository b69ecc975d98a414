package store_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// First writes of 2 KiB by many writers, as the journal and the scores are.
func BenchmarkPutNew(b *testing.B) {
	s := inProcess(b)
	body := bytes.Repeat([]byte("x"), 2<<10)
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.PutNew(b.Context(), fmt.Sprint("k/", n.Add(1)), body); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

// A file of two full chunks, stored anew and read back.
func BenchmarkFile(b *testing.B) {
	content := make([]byte, 2*store.ChunkSize)
	s := inProcess(b)
	b.Run("put", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for i := 0; b.Loop(); i++ {
			content[0], content[1], content[store.ChunkSize] = byte(i), byte(i>>8), byte(i) // both chunks are new
			must[rl.File](b)(s.PutFile(b.Context(), "f", content))
		}
	})
	f := must[rl.File](b)(s.PutFile(b.Context(), "f", content))
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			must[[]byte](b)(s.ReadFile(b.Context(), f))
		}
	})
}
