package kern

// Width is the number of columns of one panel.
const Width = 32

// Matrix is a strided view: element (i, j) is Data[i*Row+j*Col].
type Matrix struct {
	Data     []float32
	Row, Col int
}

// Panels is a K x N matrix laid out for Gemm: ceil(N/Width) panels, each a row-major block of Rows x Width, of
// which the first K rows hold values. Rows > K leaves room to append to K (a cache of attention values).
type Panels struct {
	K, N, Rows int
	Data       []float32
}

// Pack copies the k x n matrix b into p and reuses p's memory. Columns past n are zero.
func (p *Panels) Pack(b Matrix, k, n int) {
	count := (n + Width - 1) / Width
	need := count * k * Width
	if cap(p.Data) < need {
		p.Data = make([]float32, need)
	}
	*p = Panels{K: k, N: n, Rows: k, Data: p.Data[:need]}
	for j := range count {
		block := p.Data[j*k*Width : (j+1)*k*Width]
		w := min(Width, n-j*Width)
		if w < Width {
			clear(block)
		}
		if b.Col == 1 {
			for i := range k {
				copy(block[i*Width:i*Width+w], b.Data[i*b.Row+j*Width:])
			}
			continue
		}
		for c := range w {
			from := (j*Width + c) * b.Col
			for i := range k {
				block[i*Width+c] = b.Data[from+i*b.Row]
			}
		}
	}
}

// Gemm computes c = a*b, or c += a*b when acc: a is m x b.K, c is m x b.N and has Col 1. Element (i, j) starts
// at 0 (or at c's value) and takes one fused multiply-add per k, in rising order.
func Gemm(c, a Matrix, m int, b *Panels, acc bool) {
	if m == 0 {
		return
	}
	if b.K == 0 {
		for i := 0; i < m && !acc; i++ {
			clear(c.Data[i*c.Row : i*c.Row+b.N])
		}
		return
	}
	pairs := m &^ 1
	for j := 0; j < b.N; j += Width {
		panel := b.Data[j*b.Rows : j*b.Rows+b.K*Width]
		if w := b.N - j; w < Width {
			narrow(c, a, m, panel, b.K, j, w, acc)
			continue
		}
		for i := 0; i < pairs; {
			rows := tile(pairs - i)
			micro(rows, b.K, a.Data[i*a.Row:], a.Row, a.Col, panel, c.Data[i*c.Row+j:], c.Row, acc)
			i += rows
		}
	}
	if pairs < m {
		whole := Panels{K: b.K, N: b.N / Width * Width, Rows: b.Rows, Data: b.Data}
		gang(Matrix{c.Data[pairs*c.Row:], Width, 1}, Matrix{a.Data[pairs*a.Row:], 0, a.Col}, &whole, acc)
	}
}

// Each multiplies every panel of b with a row of its own: c's row i, Width long, is a's row i times panel i. b.N is
// a multiple of Width, c has Col 1. The order of operations is Gemm's.
func Each(c, a Matrix, b *Panels) {
	if b.K > 0 {
		gang(c, a, b, false)
	}
}

// gang is Each, added to c when acc, for b.K > 0.
func gang(c, a Matrix, b *Panels, acc bool) {
	for i, n := 0, b.N/Width; i < n; {
		count := min(4, n-i)
		each(count, b.K, a.Data[i*a.Row:], a.Row, a.Col, b.Data[i*b.Rows*Width:], b.Rows*Width, c.Data[i*c.Row:], c.Row, acc)
		i += count
	}
}

// tile is how many of the rows that are left are multiplied at once: 8, 4, 2 or 1.
func tile(left int) int {
	switch {
	case left >= 8:
		return 8
	case left >= 4:
		return 4
	case left >= 2:
		return 2
	}
	return 1
}

// narrow multiplies with the last panel, of which w < Width columns exist: c goes through a full-width copy.
func narrow(c, a Matrix, m int, panel []float32, k, j, w int, acc bool) {
	var full [8 * Width]float32
	for i := 0; i < m; {
		rows := tile(m - i)
		for r := 0; r < rows && acc; r++ {
			copy(full[r*Width:r*Width+w], c.Data[(i+r)*c.Row+j:])
		}
		micro(rows, k, a.Data[i*a.Row:], a.Row, a.Col, panel, full[:], Width, acc)
		for r := range rows {
			copy(c.Data[(i+r)*c.Row+j:], full[r*Width:r*Width+w])
		}
		i += rows
	}
}
