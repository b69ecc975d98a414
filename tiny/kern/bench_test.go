package kern

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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
