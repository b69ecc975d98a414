package kern

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

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

// Each gives the bits of a Gemm per panel, and writes nothing beside its rows.
func TestEachBits(t *testing.T) {
	const k, capacity, gap = 37, 40, Width + 5
	for n := range 10 {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		b := Panels{K: k, N: n * Width, Rows: capacity, Data: numbers(r, n*capacity*Width)}
		a, want := numbers(r, (n+1)*k), make([]float32, (n+1)*gap)
		for i := range n {
			one := Panels{K: k, N: Width, Rows: capacity, Data: b.Data[i*capacity*Width:]}
			Gemm(Matrix{want[i*gap:], 0, 1}, Matrix{a[i*k:], 0, 1}, 1, &one, false)
		}
		eachMode(t, func(mode string) {
			got := make([]float32, len(want))
			for i := range n {
				got[i*gap] = 7 // what was there does not matter
			}
			Each(Matrix{got, gap, 1}, Matrix{a, k, 1}, &b)
			if err := sameBits(got, want); err != nil {
				t.Errorf("%s, %d panels: %v", mode, n, err)
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
