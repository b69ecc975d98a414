//go:build ignore

// Command gen writes asm_amd64.s and its Go declarations with avo. avo is no dependency of longhaul: run this
// in a module of its own, and only after a change here (from the repository root):
//
//	mkdir /tmp/avo && for f in main exp strips; do sed 1d tiny/kern/gen/$f.go >/tmp/avo/$f.go; done && ROOT=$PWD && cd /tmp/avo
//	go mod init scratch && go get github.com/mmcloughlin/avo@v0.6.0 golang.org/x/tools@v0.38.0 && go mod tidy
//	go run . -out asm_amd64.s -stubs asm_amd64.go -pkg kern && mv asm_amd64.* $ROOT/tiny/kern/
package main

import (
	"fmt"

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
