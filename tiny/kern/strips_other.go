//go:build !amd64

package kern

// Only amd64 has assembly for these.

func scaleBlocks(_, _ []float32, _ float32) int { return 0 }

func normBlocks(_, _, _ []float32, _ float32) int { return 0 }

func normBackBlocks(_, _, _, _, _ []float32, _, _ float32) int { return 0 }

func swiGLUBlocks(_, _, _, _ []float32) int { return 0 }

func swiGLUBackBlocks(_, _, _, _, _, _ []float32) int { return 0 }

func maxBlocks(_ []float32, _ *[lanes]float32) int { return 0 }

func rotateBlocks(_ []float32, _, _ *[lanes]float32) bool { return false }
