//go:build !amd64 && !arm64

package kern

func detect() []string { return nil }

func micro(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int, acc bool) {
	microPortable(rows, k, a, rsa, csa, panel, c, ldc, acc)
}

func each(count, k int, a []float32, sa, csa int, panel []float32, sp int, c []float32, sc int, acc bool) {
	eachAlone(count, k, a, sa, csa, panel, sp, c, sc, acc)
}

func expBlocks(dst, src []float32, mul, sub float32, sums *[lanes]float32) {
	expPortable(dst, src, mul, sub, sums)
}
