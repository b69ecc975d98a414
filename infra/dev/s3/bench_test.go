package s3_test

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// Small writes, each durable when it returns: alone, and as many at once as a busy worker has.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			c := near(open(b, b.TempDir()))
			body := content("x", 2<<10)
			var n atomic.Int64
			b.SetParallelism(writers) // times GOMAXPROCS
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := put(b.Context(), c, fmt.Sprint("k/", n.Add(1)), body); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
		})
	}
}
