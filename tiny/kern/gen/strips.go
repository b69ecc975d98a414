//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
