package kern

// microPortable is c[rows x Width] += a[rows x k] * panel[k x Width] in plain Go: blocks of 2 rows x 4 columns
// or 1 x 4 in float64 registers.
func microPortable(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int) {
	for i := 0; i < rows; i += 2 {
		for j := 0; j < Width; j += 4 {
			if i+1 == rows {
				if !block1(k, a[i*rsa:], csa, panel[j:], c[i*ldc+j:]) {
					blockOdd(k, a[i*rsa:], csa, panel[j:], c[i*ldc+j:])
				}
				continue
			}
			if !block2(k, a[i*rsa:], a[(i+1)*rsa:], csa, panel[j:], c[i*ldc+j:], c[(i+1)*ldc+j:]) {
				blockOdd(k, a[i*rsa:], csa, panel[j:], c[i*ldc+j:])
				blockOdd(k, a[(i+1)*rsa:], csa, panel[j:], c[(i+1)*ldc+j:])
			}
		}
	}
}

// block2 is 2 x 4 elements' chains. When a sum is doubtful it gives up before it has written anything: that is
// so rare on real data (2^-28 per operation) that the loop carries no call.
func block2(k int, a, a1 []float32, csa int, panel, c, c1 []float32) bool {
	p, q := (*[4]float32)(c), (*[4]float32)(c1)
	c0, c1_, c2, c3 := float64(p[0]), float64(p[1]), float64(p[2]), float64(p[3])
	d0, d1, d2, d3 := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
	at := 0
	for n := 0; n < k; n++ {
		x, y := float64(a[at]), float64(a1[at])
		at += csa
		b := (*[4]float32)(panel[n*Width:])
		b0, b1, b2, b3 := float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3])
		c0 += x * b0
		d0 += y * b0
		c1_ += x * b1
		d1 += y * b1
		c2 += x * b2
		d2 += y * b2
		c3 += x * b3
		d3 += y * b3
		if doubtful(c0) || doubtful(c1_) || doubtful(c2) || doubtful(c3) ||
			doubtful(d0) || doubtful(d1) || doubtful(d2) || doubtful(d3) {
			return false
		}
		c0, c1_, c2, c3 = float64(float32(c0)), float64(float32(c1_)), float64(float32(c2)), float64(float32(c3))
		d0, d1, d2, d3 = float64(float32(d0)), float64(float32(d1)), float64(float32(d2)), float64(float32(d3))
	}
	*p = [4]float32{float32(c0), float32(c1_), float32(c2), float32(c3)}
	*q = [4]float32{float32(d0), float32(d1), float32(d2), float32(d3)}
	return true
}

// block1 is block2 with one row.
func block1(k int, a []float32, csa int, panel, c []float32) bool {
	p := (*[4]float32)(c)
	c0, c1, c2, c3 := float64(p[0]), float64(p[1]), float64(p[2]), float64(p[3])
	at := 0
	for n := 0; n < k; n++ {
		x := float64(a[at])
		at += csa
		b := (*[4]float32)(panel[n*Width:])
		c0 += x * float64(b[0])
		c1 += x * float64(b[1])
		c2 += x * float64(b[2])
		c3 += x * float64(b[3])
		if doubtful(c0) || doubtful(c1) || doubtful(c2) || doubtful(c3) {
			return false
		}
		c0, c1, c2, c3 = float64(float32(c0)), float64(float32(c1)), float64(float32(c2)), float64(float32(c3))
	}
	*p = [4]float32{float32(c0), float32(c1), float32(c2), float32(c3)}
	return true
}

// blockOdd is one row's 4 chains with every operation checked.
func blockOdd(k int, a []float32, csa int, panel, c []float32) {
	p := (*[4]float32)(c)
	for n := range k {
		x := a[n*csa]
		b := (*[4]float32)(panel[n*Width:])
		for j := range p {
			p[j] = fma32(x, b[j], p[j])
		}
	}
}
