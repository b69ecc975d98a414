package kern

import "math"

// microPortable is micro in plain Go: blocks of 2 rows x 4 columns or 1 x 4 in float64 registers.
func microPortable(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int, acc bool) {
	if !acc {
		clearTile(rows, c, ldc)
	}
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

func clearTile(rows int, c []float32, ldc int) {
	for i := range rows {
		clear(c[i*ldc : i*ldc+Width])
	}
}

// eachAlone is each, one product after the other.
func eachAlone(count, k int, a []float32, sa, csa int, panel []float32, sp int, c []float32, sc int, acc bool) {
	for i := range count {
		micro(1, k, a[i*sa:], 0, csa, panel[i*sp:], c[i*sc:], 0, acc)
	}
}

// block2 is 2 x 4 elements' chains. When a sum is doubtful it gives up before it has written anything: that is
// so rare on real data (2^-29 per operation) that the loop carries no call.
func block2(k int, a0, a1 []float32, csa int, panel, r0, r1 []float32) bool {
	p, q := (*[4]float32)(r0), (*[4]float32)(r1)
	c0, c1, c2, c3 := float64(p[0]), float64(p[1]), float64(p[2]), float64(p[3])
	d0, d1, d2, d3 := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
	at := 0
	for n := 0; n < k; n++ {
		x, y := float64(a0[at]), float64(a1[at])
		at += csa
		b := (*[4]float32)(panel[n*Width:])
		b0, b1, b2, b3 := float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3])
		if u := math.Float64bits(c0+x*b0) + half; doubtful(u) {
			return false
		} else {
			c0 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(d0+y*b0) + half; doubtful(u) {
			return false
		} else {
			d0 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c1+x*b1) + half; doubtful(u) {
			return false
		} else {
			c1 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(d1+y*b1) + half; doubtful(u) {
			return false
		} else {
			d1 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c2+x*b2) + half; doubtful(u) {
			return false
		} else {
			c2 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(d2+y*b2) + half; doubtful(u) {
			return false
		} else {
			d2 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c3+x*b3) + half; doubtful(u) {
			return false
		} else {
			c3 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(d3+y*b3) + half; doubtful(u) {
			return false
		} else {
			d3 = math.Float64frombits(u &^ lowBits)
		}
	}
	*p = [4]float32{float32(c0), float32(c1), float32(c2), float32(c3)}
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
		if u := math.Float64bits(c0+x*float64(b[0])) + half; doubtful(u) {
			return false
		} else {
			c0 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c1+x*float64(b[1])) + half; doubtful(u) {
			return false
		} else {
			c1 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c2+x*float64(b[2])) + half; doubtful(u) {
			return false
		} else {
			c2 = math.Float64frombits(u &^ lowBits)
		}
		if u := math.Float64bits(c3+x*float64(b[3])) + half; doubtful(u) {
			return false
		} else {
			c3 = math.Float64frombits(u &^ lowBits)
		}
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
