// Package kern holds the float32 kernels the embedded policy spends its time in: a matrix product with a packed
// right side, a vector exponential, and a few loops over elements.
//
// What it promises is sameness. Every element of a product is one chain of fused multiply-adds over k in
// rising order, each rounded once; the exponential is a fixed list of such operations per element. So a result
// depends neither on the number of rows that are multiplied together, nor on threads, nor on the instruction
// set: AVX-512, AVX2, NEON and portable Go give the same bits (portable Go computes a correctly rounded
// float32 multiply-add out of float64 operations, see fma.go). The hash of a checkpoint rests on this.
//
// gemm.go has the product, exp.go the exponential, strips.go the loops, mode.go chooses the instruction set
// (LONGHAUL_KERNEL forces it), gen holds the generator of the amd64 assembly. Next: package nn, which is built on
// these.
package kern
