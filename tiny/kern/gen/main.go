//go:build ignore

// Command gen writes gemm_amd64.s and its Go declarations with avo. avo is no dependency of longhaul: run this
// in a module of its own, and only after a change here (from the repository root):
//
//	mkdir /tmp/avo && sed 1d tiny/kern/gen/main.go >/tmp/avo/main.go && ROOT=$PWD && cd /tmp/avo
//	go mod init scratch && go get github.com/mmcloughlin/avo@v0.6.0 golang.org/x/tools@v0.38.0 && go mod tidy
//	go run main.go -out $ROOT/tiny/kern/asm_amd64.s -stubs $ROOT/tiny/kern/asm_amd64.go -pkg kern
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A set is one instruction set: the width of its registers and how many panel columns a kernel covers.
type set struct {
	name  string
	bytes int
}

var (
	avx512 = set{"512", 64} // 2 registers x 16 lanes: a whole panel
	avx2   = set{"256", 32} // 2 registers x 8 lanes: half a panel
)

func (s set) vec() reg.VecVirtual {
	if s.bytes == 64 {
		return ZMM()
	}
	return YMM()
}

func (s set) broadcast(m Mem) reg.VecVirtual {
	v := s.vec()
	VBROADCASTSS(m, v)
	return v
}

// rowAddress makes the addresses of up to 8 rows out of base, base+4*stride, stride and 3*stride.
func rowAddress(base reg.Register, stride reg.GPVirtual, rows int) func(row int) Mem {
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	fourth := GP64()
	if rows > 4 {
		LEAQ(Mem{Base: base, Index: stride, Scale: 4}, fourth)
	}
	return func(row int) Mem {
		b := base
		if row >= 4 {
			b = fourth
		}
		switch row % 4 {
		case 1:
			return Mem{Base: b, Index: stride, Scale: 1}
		case 2:
			return Mem{Base: b, Index: stride, Scale: 2}
		case 3:
			return Mem{Base: b, Index: triple, Scale: 1}
		}
		return Mem{Base: b}
	}
}

// start fills the accumulators: with c, or with zeros when the argument acc is 0.
func start(s set, acc [][2]reg.VecVirtual, c func(i int) Mem) {
	keep := Load(Param("acc"), GP64())
	for i := range acc {
		acc[i] = [2]reg.VecVirtual{s.vec(), s.vec()}
		for _, v := range acc[i] {
			VXORPS(v, v, v)
		}
	}
	TESTQ(keep, keep)
	JE(LabelRef("loop"))
	for i := range acc {
		VMOVUPS(c(i), acc[i][0])
		VMOVUPS(c(i).Offset(s.bytes), acc[i][1])
	}
}

// finish writes the accumulators to c.
func finish(s set, acc [][2]reg.VecVirtual, c func(i int) Mem) {
	for i := range acc {
		VMOVUPS(acc[i][0], c(i))
		VMOVUPS(acc[i][1], c(i).Offset(s.bytes))
	}
	VZEROUPPER()
	RET()
}

// gemm: c[rows x 2 registers] = a[rows x k] * panel, or += when acc is not 0; strides in bytes; a panel row is
// 128 bytes. Per element one sequential chain of fused multiply-adds over k >= 1.
func gemm(s set, rows int) {
	TEXT(fmt.Sprintf("gemm%sx%d", s.name, rows), NOSPLIT, "func(k int, a *float32, rsa, csa int, panel, c *float32, ldc, acc int)")
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	rsa := Load(Param("rsa"), GP64()).(reg.GPVirtual)
	csa := Load(Param("csa"), GP64())
	panel := Load(Param("panel"), GP64())
	c := Load(Param("c"), GP64())
	ldc := Load(Param("ldc"), GP64()).(reg.GPVirtual)
	// a moves along k, so its fourth row needs a register that moves too.
	var a4 reg.GPVirtual
	aRow := rowAddress(a, rsa, min(rows, 4))
	if rows > 4 {
		a4 = GP64()
		LEAQ(Mem{Base: a, Index: rsa, Scale: 4}, a4)
	}
	cRow := rowAddress(c, ldc, rows)
	if rows == 8 { // the next tile comes from far away, and too late to be seen by the processor itself
		ahead := GP64()
		LEAQ(Mem{Base: c, Index: ldc, Scale: 8}, ahead)
		next := rowAddress(ahead, ldc, rows)
		for i := range rows {
			PREFETCHT0(next(i))
			PREFETCHT0(next(i).Offset(64))
		}
	}
	acc := make([][2]reg.VecVirtual, rows)
	start(s, acc, cRow)
	b0, b1, x := s.vec(), s.vec(), s.vec()
	Label("loop")
	VMOVUPS(Mem{Base: panel}, b0)
	VMOVUPS(Mem{Base: panel, Disp: s.bytes}, b1)
	for i := range acc {
		m := aRow(i % 4)
		if i >= 4 {
			m.Base = a4
		}
		VBROADCASTSS(m, x)
		VFMADD231PS(b0, x, acc[i][0])
		VFMADD231PS(b1, x, acc[i][1])
	}
	ADDQ(csa, a)
	if rows > 4 {
		ADDQ(csa, a4)
	}
	ADDQ(Imm(128), panel)
	DECQ(k)
	JNE(LabelRef("loop"))
	finish(s, acc, cRow)
}

// each: gemm with one row, count times at once, each with an a, a panel and a c of its own: they lie sa, sp and sc
// bytes apart. One product alone would wait for its own additions most of the time.
func each(s set, count int) {
	TEXT(fmt.Sprintf("each%sx%d", s.name, count), NOSPLIT, "func(k int, a *float32, sa, csa int, panel *float32, sp int, c *float32, sc, acc int)")
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	a := Load(Param("a"), GP64())
	sa := Load(Param("sa"), GP64()).(reg.GPVirtual)
	csa := Load(Param("csa"), GP64())
	panel := Load(Param("panel"), GP64())
	sp := Load(Param("sp"), GP64()).(reg.GPVirtual)
	c := Load(Param("c"), GP64())
	sc := Load(Param("sc"), GP64()).(reg.GPVirtual)
	aRow, pRow, cRow := rowAddress(a, sa, count), rowAddress(panel, sp, count), rowAddress(c, sc, count)
	acc := make([][2]reg.VecVirtual, count)
	start(s, acc, cRow)
	Label("loop")
	for i := range acc {
		x := s.broadcast(aRow(i))
		VFMADD231PS(pRow(i), x, acc[i][0])
		VFMADD231PS(pRow(i).Offset(s.bytes), x, acc[i][1])
	}
	ADDQ(csa, a)
	ADDQ(Imm(128), panel)
	DECQ(k)
	JNE(LabelRef("loop"))
	finish(s, acc, cRow)
}

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

// strip begins a kernel over n elements, a positive multiple of 16, of the slices named; next ends its loop.
func strip(name, signature string, slices ...string) (at []reg.Register, next func()) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	for _, p := range slices {
		at = append(at, Load(Param(p), GP64()))
	}
	return at, func() {
		for _, r := range at {
			ADDQ(Imm(64), r)
		}
		SUBQ(Imm(16), n)
		JNE(LabelRef("loop"))
	}
}

// scale: dst = src * by.
func scale(s set) {
	at, next := strip("scale"+s.name, "func(dst, src *float32, n int, by float32)", "dst", "src")
	by, _ := Param("by").Resolve()
	x := s.broadcast(by.Addr)
	Label("loop")
	for h := 0; h < 64; h += s.bytes {
		v := s.vec()
		VMULPS(Mem{Base: at[1], Disp: h}, x, v)
		VMOVUPS(v, Mem{Base: at[0], Disp: h})
	}
	next()
	VZEROUPPER()
	RET()
}

// norm: dst = (src * by) * gain.
func norm(s set) {
	at, next := strip("norm"+s.name, "func(dst, src, gain *float32, n int, by float32)", "dst", "src", "gain")
	by, _ := Param("by").Resolve()
	x := s.broadcast(by.Addr)
	Label("loop")
	for h := 0; h < 64; h += s.bytes {
		v := s.vec()
		VMULPS(Mem{Base: at[1], Disp: h}, x, v)
		VMULPS(Mem{Base: at[2], Disp: h}, v, v)
		VMOVUPS(v, Mem{Base: at[0], Disp: h})
	}
	next()
	VZEROUPPER()
	RET()
}

// highest: the greatest of each of 16 lanes, -Inf at least, to tops; NaN counts for nothing.
func highest(s set) {
	at, next := strip("highest"+s.name, "func(src *float32, n int, tops *float32)", "src")
	tops := Load(Param("tops"), GP64())
	var acc []reg.VecVirtual
	for h := 0; h < 64; h += s.bytes {
		acc = append(acc, s.broadcast(lowest))
	}
	Label("loop")
	for i, a := range acc {
		v := s.vec()
		VMOVUPS(Mem{Base: at[0], Disp: i * s.bytes}, v)
		VMAXPS(a, v, a) // v, unless it is not greater or NaN
	}
	next()
	for i, a := range acc {
		VMOVUPS(a, Mem{Base: tops, Disp: i * s.bytes})
	}
	VZEROUPPER()
	RET()
}

// swiGLU: sig = 1 / (1 + sig), dst = (gate * sig) * up.
func swiGLU(s set) {
	at, next := strip("swiGLU"+s.name, "func(dst, sig, gate, up *float32, n int)", "dst", "sig", "gate", "up")
	unit := s.broadcast(one)
	Label("loop")
	for h := 0; h < 64; h += s.bytes {
		v := s.vec()
		VADDPS(Mem{Base: at[1], Disp: h}, unit, v)
		VDIVPS(v, unit, v)
		VMOVUPS(v, Mem{Base: at[1], Disp: h})
		VMULPS(Mem{Base: at[2], Disp: h}, v, v)
		VMULPS(Mem{Base: at[3], Disp: h}, v, v)
		VMOVUPS(v, Mem{Base: at[0], Disp: h})
	}
	next()
	VZEROUPPER()
	RET()
}

// swiGLUBack: with silu = gate*sig, dUp = dOut*silu, dGate = (dOut*up) * (sig + silu*(1-sig)).
func swiGLUBack(s set) {
	at, next := strip("swiGLUBack"+s.name, "func(dGate, dUp, dOut, sig, gate, up *float32, n int)",
		"dGate", "dUp", "dOut", "sig", "gate", "up")
	unit := s.broadcast(one)
	Label("loop")
	for h := 0; h < 64; h += s.bytes {
		load := func(i int) reg.VecVirtual {
			v := s.vec()
			VMOVUPS(Mem{Base: at[i], Disp: h}, v)
			return v
		}
		out, sig, silu, rest := load(2), load(3), load(4), s.vec()
		VMULPS(sig, silu, silu)
		VSUBPS(sig, unit, rest)
		VMULPS(silu, rest, rest)
		VADDPS(rest, sig, rest)
		VMULPS(out, silu, silu)
		VMULPS(Mem{Base: at[5], Disp: h}, out, out)
		VMULPS(rest, out, out)
		VMOVUPS(out, Mem{Base: at[0], Disp: h})
		VMOVUPS(silu, Mem{Base: at[1], Disp: h})
	}
	next()
	VZEROUPPER()
	RET()
}

// normBack: dGain += (dOut*src) * by, dIn += (dOut*gain)*by - src*k.
func normBack(s set) {
	at, next := strip("normBack"+s.name, "func(dIn, dGain, dOut, src, gain *float32, n int, by, k float32)",
		"dIn", "dGain", "dOut", "src", "gain")
	pb, _ := Param("by").Resolve()
	pk, _ := Param("k").Resolve()
	by, k := s.broadcast(pb.Addr), s.broadcast(pk.Addr)
	Label("loop")
	for h := 0; h < 64; h += s.bytes {
		out, src, g, d := s.vec(), s.vec(), s.vec(), s.vec()
		VMOVUPS(Mem{Base: at[2], Disp: h}, out)
		VMOVUPS(Mem{Base: at[3], Disp: h}, src)
		VMULPS(src, out, g)
		VMULPS(by, g, g)
		VADDPS(Mem{Base: at[1], Disp: h}, g, g)
		VMOVUPS(g, Mem{Base: at[1], Disp: h})
		VMULPS(Mem{Base: at[4], Disp: h}, out, d)
		VMULPS(by, d, d)
		VMULPS(k, src, src)
		VSUBPS(src, d, d)
		VADDPS(Mem{Base: at[0], Disp: h}, d, d)
		VMOVUPS(d, Mem{Base: at[0], Disp: h})
	}
	next()
	VZEROUPPER()
	RET()
}

// rotate: of each 32 elements the pairs (i, i+16) are turned by the angles' cosines and sines, 16 of each.
func rotate(s set) {
	TEXT("rotate"+s.name, NOSPLIT, "func(v *float32, n int, cos, sin *float32)")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	v := Load(Param("v"), GP64())
	cosines, sines := Load(Param("cos"), GP64()), Load(Param("sin"), GP64())
	var cos, sin []reg.VecVirtual
	for h := 0; h < 64; h += s.bytes {
		c, d := s.vec(), s.vec()
		VMOVUPS(Mem{Base: cosines, Disp: h}, c)
		VMOVUPS(Mem{Base: sines, Disp: h}, d)
		cos, sin = append(cos, c), append(sin, d)
	}
	Label("loop")
	for i := range cos {
		a, b := Mem{Base: v, Disp: i * s.bytes}, Mem{Base: v, Disp: 64 + i*s.bytes}
		ac, as, bc, bs := s.vec(), s.vec(), s.vec(), s.vec()
		VMULPS(a, cos[i], ac)
		VMULPS(b, sin[i], bs)
		VMULPS(b, cos[i], bc)
		VMULPS(a, sin[i], as)
		VSUBPS(bs, ac, ac)
		VADDPS(as, bc, bc)
		VMOVUPS(ac, a)
		VMOVUPS(bc, b)
	}
	ADDQ(Imm(128), v)
	SUBQ(Imm(32), n)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func main() {
	ConstraintExpr("amd64")
	constants()
	for _, rows := range []int{8, 4, 2, 1} {
		gemm(avx512, rows)
	}
	for _, rows := range []int{4, 2, 1} {
		gemm(avx2, rows)
	}
	for _, count := range []int{4, 3, 2} {
		each(avx512, count)
		each(avx2, count)
	}
	for _, s := range []set{avx512, avx2} {
		exp(s)
		scale(s)
		norm(s)
		highest(s)
		swiGLU(s)
		swiGLUBack(s)
		normBack(s)
		rotate(s)
	}
	Generate()
}
