//go:build ignore

package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of ../exp.go, -Inf and 1.
var (
	log2e, ln2High, ln2Low, low, high, lowest, one Mem
	poly                                           []Mem
)

// constant is written as bits: avo prints a whole float32 as an integer.
func constant(name string, v float32) Mem {
	g := GLOBL(name, RODATA|NOPTR)
	DATA(0, U32(math.Float32bits(v)))
	return g
}

func constants() {
	log2e = constant("log2e", 1.44269504088896341)
	ln2High = constant("ln2High", 0.693359375)
	ln2Low = constant("ln2Low", -2.12194440e-4)
	low = constant("expLow", -87)
	high = constant("expHigh", 88)
	lowest = constant("lowest", float32(math.Inf(-1)))
	one = constant("one", 1)
	for i, v := range []float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
		5.0000001201e-1, 1, 1} {
		poly = append(poly, constant(fmt.Sprintf("expPoly%d", i), v))
	}
}

// exp: dst = exp(src*mul - sub) for n, a positive multiple of 16; the 16 lanes' sums go to sums.
func exp(s set) {
	TEXT("exp"+s.name, NOSPLIT, "func(dst, src *float32, n int, mul, sub float32, sums *float32)")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	sums := Load(Param("sums"), GP64())
	pm, _ := Param("mul").Resolve()
	ps, _ := Param("sub").Resolve()
	mul, sub := s.broadcast(pm.Addr), s.broadcast(ps.Addr)
	scale, hi, lo := s.broadcast(log2e), s.broadcast(ln2High), s.broadcast(ln2Low)
	least, most := s.broadcast(low), s.broadcast(high)
	acc := []reg.VecVirtual{s.vec()}
	if s.bytes == 32 {
		acc = append(acc, s.vec())
	}
	for _, a := range acc {
		VXORPS(a, a, a)
	}
	Label("loop")
	for h, sum := range acc {
		x, t, r, p := s.vec(), s.vec(), s.vec(), s.vec()
		VMOVUPS(Mem{Base: src, Disp: h * s.bytes}, x)
		VFMSUB213PS(sub, mul, x) // x = x*mul - sub
		VMAXPS(least, x, t)
		VMINPS(most, t, t)
		VMULPS(scale, t, r)
		if s.bytes == 64 {
			VRNDSCALEPS(Imm(8), r, r)
		} else {
			VROUNDPS(Imm(8), r, r)
		}
		VFNMADD231PS(hi, r, t)
		VFNMADD231PS(lo, r, t)
		VBROADCASTSS(poly[0], p)
		for _, m := range poly[1:] {
			VFMADD213PS(s.broadcast(m), t, p)
		}
		VCVTPS2DQ(r, r)
		VPSLLD(Imm(23), r, r)
		VPADDD(p, r, p)
		if s.bytes == 64 { // keep p where x >= least
			k := K()
			VCMPPS(Imm(13), least, x, k)
			VMOVAPS_Z(p, k, p)
		} else {
			keep := s.vec()
			VCMPPS(Imm(13), least, x, keep)
			VANDPS(keep, p, p)
		}
		VMOVUPS(p, Mem{Base: dst, Disp: h * s.bytes})
		VADDPS(p, sum, sum)
	}
	ADDQ(Imm(64), src)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(16), n)
	JNE(LabelRef("loop"))
	for h, a := range acc {
		VMOVUPS(a, Mem{Base: sums, Disp: h * s.bytes})
	}
	VZEROUPPER()
	RET()
}
