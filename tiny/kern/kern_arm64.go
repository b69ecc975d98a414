package kern

// detect: every arm64 machine has NEON.
func detect() []string { return []string{NEON} }

// micro is c[rows x Width] = a[rows x k] * panel[k x Width], or += when acc; rows one of 8, 4, 2, 1; strides in
// elements.
func micro(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int, acc bool) {
	_, _ = a[(rows-1)*rsa+(k-1)*csa], c[(rows-1)*ldc+Width-1] // the assembly checks no bounds
	if active != neon {
		microPortable(rows, k, a, rsa, csa, panel, c, ldc, acc)
		return
	}
	if !acc {
		clearTile(rows, c, ldc)
	}
	for h := 0; h < Width; h += Width / 2 { // a half panel fills the registers
		i := 0
		for ; i+4 <= rows; i += 4 {
			gemmNEONx4(k, &a[i*rsa], rsa*4, csa*4, &panel[h], &c[i*ldc+h], ldc*4)
		}
		for ; i < rows; i++ {
			gemmNEONx1(k, &a[i*rsa], csa*4, &panel[h], &c[i*ldc+h])
		}
	}
}

// each is count products of one row and one panel, whose operands lie sa, sp and sc elements apart.
func each(count, k int, a []float32, sa, csa int, panel []float32, sp int, c []float32, sc int, acc bool) {
	eachAlone(count, k, a, sa, csa, panel, sp, c, sc, acc)
}

// expBlocks is Exp for a length that is a positive multiple of 16.
func expBlocks(dst, src []float32, mul, sub float32, sums *[lanes]float32) {
	if active != neon {
		expPortable(dst, src, mul, sub, sums)
		return
	}
	expNEON(&dst[0], &src[0], len(src), mul, sub, sums)
}

// gemmNEONx4 is c[4 x 16] += a[4 x k] * half a panel; strides in bytes, k >= 1.
//
//go:noescape
func gemmNEONx4(k int, a *float32, rsa, csa int, panel, c *float32, ldc int)

// gemmNEONx1 is gemmNEONx4 with one row.
//
//go:noescape
func gemmNEONx1(k int, a *float32, csa int, panel, c *float32)

// expNEON is dst = exp(src*mul - sub) for n, a positive multiple of 16; the 16 lanes' sums go to sums.
//
//go:noescape
func expNEON(dst, src *float32, n int, mul, sub float32, sums *[lanes]float32)
