package kern

// blocks is the part of n elements that the vector kernels do.
func blocks(n int) int {
	if active == portable {
		return 0
	}
	return n &^ (lanes - 1)
}

func scaleBlocks(dst, src []float32, by float32) int {
	n := blocks(len(dst))
	switch {
	case n == 0:
	case active == avx512:
		scale512(&dst[0], &src[0], n, by)
	default:
		scale256(&dst[0], &src[0], n, by)
	}
	return n
}

func normBlocks(dst, src, gain []float32, by float32) int {
	n := blocks(len(dst))
	switch {
	case n == 0:
	case active == avx512:
		norm512(&dst[0], &src[0], &gain[0], n, by)
	default:
		norm256(&dst[0], &src[0], &gain[0], n, by)
	}
	return n
}

func normBackBlocks(dIn, dGain, dOut, src, gain []float32, by, k float32) int {
	n := blocks(len(dIn))
	switch {
	case n == 0:
	case active == avx512:
		normBack512(&dIn[0], &dGain[0], &dOut[0], &src[0], &gain[0], n, by, k)
	default:
		normBack256(&dIn[0], &dGain[0], &dOut[0], &src[0], &gain[0], n, by, k)
	}
	return n
}

func swiGLUBlocks(dst, sig, gate, up []float32) int {
	n := blocks(len(dst))
	switch {
	case n == 0:
	case active == avx512:
		swiGLU512(&dst[0], &sig[0], &gate[0], &up[0], n)
	default:
		swiGLU256(&dst[0], &sig[0], &gate[0], &up[0], n)
	}
	return n
}

func swiGLUBackBlocks(dGate, dUp, dOut, sig, gate, up []float32) int {
	n := blocks(len(dGate))
	switch {
	case n == 0:
	case active == avx512:
		swiGLUBack512(&dGate[0], &dUp[0], &dOut[0], &sig[0], &gate[0], &up[0], n)
	default:
		swiGLUBack256(&dGate[0], &dUp[0], &dOut[0], &sig[0], &gate[0], &up[0], n)
	}
	return n
}

func maxBlocks(src []float32, tops *[lanes]float32) int {
	n := blocks(len(src))
	switch {
	case n == 0:
	case active == avx512:
		highest512(&src[0], n, &tops[0])
	default:
		highest256(&src[0], n, &tops[0])
	}
	return n
}

// rotateBlocks reports whether it did the work.
func rotateBlocks(v []float32, cos, sin *[lanes]float32) bool {
	n := len(v) &^ (2*lanes - 1)
	switch {
	case n == 0 || active == portable:
		return false
	case active == avx512:
		rotate512(&v[0], n, &cos[0], &sin[0])
	default:
		rotate256(&v[0], n, &cos[0], &sin[0])
	}
	return true
}
