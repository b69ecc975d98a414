//go:build !amd64 && !arm64

package kern

func detect() []string { return nil }

func micro(rows, k int, a []float32, rsa, csa int, panel, c []float32, ldc int) {
	microPortable(rows, k, a, rsa, csa, panel, c, ldc)
}

func expBlocks(dst, src []float32, mul, sub float32, sums *[lanes]float32) {
	expPortable(dst, src, mul, sub, sums)
}
