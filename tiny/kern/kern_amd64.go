package kern

import "golang.org/x/sys/cpu"

func detect() (have []string) {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		have = append(have, AVX512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		have = append(have, AVX2)
	}
	return have
}

// micro is c[rows x Width] = a[rows x k] * panel[k x Width], or += when acc; rows one of 8, 4, 2, 1; strides in
// elements.
func micro(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int, acc bool) {
	_, _ = a[(rows-1)*rsa+(k-1)*csa], c[(rows-1)*ldc+Width-1] // the assembly checks no bounds
	switch active {
	case avx512:
		micro512(rows, k, &a[0], rsa*4, csa*4, &panel[0], &c[0], ldc*4, keep(acc))
	case avx2:
		for h := 0; h < Width; h += Width / 2 { // a half panel fills the registers
			for i := 0; i < rows; i += 4 {
				micro256(min(4, rows), k, &a[i*rsa], rsa*4, csa*4, &panel[h], &c[i*ldc+h], ldc*4, keep(acc))
			}
		}
	default:
		microPortable(rows, k, a, rsa, csa, panel, c, ldc, acc)
	}
}

func micro512(rows, k int, a *float32, rsa, csa int, panel, c *float32, ldc, acc int) {
	switch rows {
	case 8:
		gemm512x8(k, a, rsa, csa, panel, c, ldc, acc)
	case 4:
		gemm512x4(k, a, rsa, csa, panel, c, ldc, acc)
	case 2:
		gemm512x2(k, a, rsa, csa, panel, c, ldc, acc)
	case 1:
		gemm512x1(k, a, rsa, csa, panel, c, ldc, acc)
	}
}

func micro256(rows, k int, a *float32, rsa, csa int, panel, c *float32, ldc, acc int) {
	switch rows {
	case 4:
		gemm256x4(k, a, rsa, csa, panel, c, ldc, acc)
	case 2:
		gemm256x2(k, a, rsa, csa, panel, c, ldc, acc)
	case 1:
		gemm256x1(k, a, rsa, csa, panel, c, ldc, acc)
	}
}

// each is count products, 1 to 4, of one row and one panel: micro with one row, whose operands lie sa, sp and sc
// elements apart.
func each(count, k int, a []float32, sa, csa int, panel []float32, sp int, c []float32, sc int, acc bool) {
	if count == 1 || active == portable {
		eachAlone(count, k, a, sa, csa, panel, sp, c, sc, acc)
		return
	}
	last := count - 1 // the assembly checks no bounds
	_, _, _ = a[last*sa+(k-1)*csa], panel[last*sp+k*Width-1], c[last*sc+Width-1]
	if active == avx512 {
		each512(count, k, &a[0], sa*4, csa*4, &panel[0], sp*4, &c[0], sc*4, keep(acc))
		return
	}
	for h := 0; h < Width; h += Width / 2 {
		each256(count, k, &a[0], sa*4, csa*4, &panel[h], sp*4, &c[h], sc*4, keep(acc))
	}
}

func each512(count, k int, a *float32, sa, csa int, panel *float32, sp int, c *float32, sc, acc int) {
	switch count {
	case 4:
		each512x4(k, a, sa, csa, panel, sp, c, sc, acc)
	case 3:
		each512x3(k, a, sa, csa, panel, sp, c, sc, acc)
	case 2:
		each512x2(k, a, sa, csa, panel, sp, c, sc, acc)
	}
}

func each256(count, k int, a *float32, sa, csa int, panel *float32, sp int, c *float32, sc, acc int) {
	switch count {
	case 4:
		each256x4(k, a, sa, csa, panel, sp, c, sc, acc)
	case 3:
		each256x3(k, a, sa, csa, panel, sp, c, sc, acc)
	case 2:
		each256x2(k, a, sa, csa, panel, sp, c, sc, acc)
	}
}

func keep(acc bool) int {
	if acc {
		return 1
	}
	return 0
}

// expBlocks is Exp for a length that is a positive multiple of 16.
func expBlocks(dst, src []float32, mul, sub float32, sums *[lanes]float32) {
	switch active {
	case avx512:
		exp512(&dst[0], &src[0], len(src), mul, sub, &sums[0])
	case avx2:
		exp256(&dst[0], &src[0], len(src), mul, sub, &sums[0])
	default:
		expPortable(dst, src, mul, sub, sums)
	}
}
