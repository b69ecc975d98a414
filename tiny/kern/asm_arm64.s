#include "textflag.h"

// Vector instructions that Go's assembler does not know, on 4 float32 lanes: Vd = Vn op Vm.
#define FADD4(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FMUL4(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FMAX4(m, n, d) WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN4(m, n, d) WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
// Vd = all ones where Vn >= Vm, else (and for NaN) 0.
#define FCMGE4(m, n, d) WORD $(0x6E20E400 | (m)<<16 | (n)<<5 | (d))
// Vd = Vn rounded to a whole number, ties to even.
#define FRINTN4(n, d) WORD $(0x4E218800 | (n)<<5 | (d))
// Vd = Vn as int32, ties to even.
#define FCVTNS4(n, d) WORD $(0x4E21A800 | (n)<<5 | (d))
#define FNEG4(n, d) WORD $(0x6EA0F800 | (n)<<5 | (d))

// func gemmNEONx4(k int, a *float32, rsa, csa int, panel, c *float32, ldc int)
TEXT ·gemmNEONx4(SB), NOSPLIT, $0-56
	MOVD k+0(FP), R0
	MOVD a+8(FP), R1
	MOVD rsa+16(FP), R5
	MOVD csa+24(FP), R6
	MOVD panel+32(FP), R7
	MOVD c+40(FP), R8
	MOVD ldc+48(FP), R9
	ADD  R5, R1, R2
	ADD  R5, R2, R3
	ADD  R5, R3, R4
	ADD  R9, R8, R10
	ADD  R9, R10, R11
	ADD  R9, R11, R12
	VLD1 (R8), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R10), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R11), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R12), [V12.S4, V13.S4, V14.S4, V15.S4]

loop4:
	VLD1  (R7), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1R (R1), [V20.S4]
	VLD1R (R2), [V21.S4]
	VLD1R (R3), [V22.S4]
	VLD1R (R4), [V23.S4]
	ADD   R6, R1
	ADD   R6, R2
	ADD   R6, R3
	ADD   R6, R4
	ADD   $128, R7
	VFMLA V16.S4, V20.S4, V0.S4
	VFMLA V17.S4, V20.S4, V1.S4
	VFMLA V18.S4, V20.S4, V2.S4
	VFMLA V19.S4, V20.S4, V3.S4
	VFMLA V16.S4, V21.S4, V4.S4
	VFMLA V17.S4, V21.S4, V5.S4
	VFMLA V18.S4, V21.S4, V6.S4
	VFMLA V19.S4, V21.S4, V7.S4
	VFMLA V16.S4, V22.S4, V8.S4
	VFMLA V17.S4, V22.S4, V9.S4
	VFMLA V18.S4, V22.S4, V10.S4
	VFMLA V19.S4, V22.S4, V11.S4
	VFMLA V16.S4, V23.S4, V12.S4
	VFMLA V17.S4, V23.S4, V13.S4
	VFMLA V18.S4, V23.S4, V14.S4
	VFMLA V19.S4, V23.S4, V15.S4
	SUBS  $1, R0
	BNE   loop4

	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R8)
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R10)
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R11)
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R12)
	RET

// func gemmNEONx1(k int, a *float32, csa int, panel, c *float32)
TEXT ·gemmNEONx1(SB), NOSPLIT, $0-40
	MOVD k+0(FP), R0
	MOVD a+8(FP), R1
	MOVD csa+16(FP), R6
	MOVD panel+24(FP), R7
	MOVD c+32(FP), R8
	VLD1 (R8), [V0.S4, V1.S4, V2.S4, V3.S4]

loop1:
	VLD1  (R7), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1R (R1), [V20.S4]
	ADD   R6, R1
	ADD   $128, R7
	VFMLA V16.S4, V20.S4, V0.S4
	VFMLA V17.S4, V20.S4, V1.S4
	VFMLA V18.S4, V20.S4, V2.S4
	VFMLA V19.S4, V20.S4, V3.S4
	SUBS  $1, R0
	BNE   loop1

	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R8)
	RET

// The constants of exp.go: log2e, ln2High, ln2Low, expLow, expHigh, then the polynomial.
DATA expConst<>+0(SB)/4, $1.44269504088896341
DATA expConst<>+4(SB)/4, $0.693359375
DATA expConst<>+8(SB)/4, $-2.12194440e-4
DATA expConst<>+12(SB)/4, $-87.0
DATA expConst<>+16(SB)/4, $88.0
DATA expConst<>+20(SB)/4, $1.9875691500e-4
DATA expConst<>+24(SB)/4, $1.3981999507e-3
DATA expConst<>+28(SB)/4, $8.3334519073e-3
DATA expConst<>+32(SB)/4, $4.1665795894e-2
DATA expConst<>+36(SB)/4, $1.6666665459e-1
DATA expConst<>+40(SB)/4, $5.0000001201e-1
DATA expConst<>+44(SB)/4, $1.0
GLOBL expConst<>(SB), RODATA|NOPTR, $48

// func expNEON(dst, src *float32, n int, mul, sub float32, sums *[16]float32)
TEXT ·expNEON(SB), NOSPLIT, $0-40
	MOVD   dst+0(FP), R0
	MOVD   src+8(FP), R1
	MOVD   n+16(FP), R2
	MOVD   sums+32(FP), R3
	MOVD   R3, R5
	MOVD   $expConst<>(SB), R4
	VLD1R.P 4(R4), [V20.S4] // log2e
	VLD1R.P 4(R4), [V21.S4] // ln2High
	VLD1R.P 4(R4), [V22.S4] // ln2Low
	VLD1R.P 4(R4), [V23.S4] // expLow
	VLD1R.P 4(R4), [V24.S4] // expHigh
	VLD1R.P 4(R4), [V25.S4] // the polynomial, highest power first
	VLD1R.P 4(R4), [V26.S4]
	VLD1R.P 4(R4), [V27.S4]
	VLD1R.P 4(R4), [V28.S4]
	VLD1R.P 4(R4), [V29.S4]
	VLD1R.P 4(R4), [V30.S4]
	VLD1R.P 4(R4), [V31.S4] // 1
	MOVD   $mul+24(FP), R4
	VLD1R  (R4), [V18.S4]
	MOVD   $sub+28(FP), R4
	VLD1R  (R4), [V19.S4]
	FNEG4(19, 19)
	VEOR   V4.B16, V4.B16, V4.B16
	VEOR   V5.B16, V5.B16, V5.B16
	VEOR   V6.B16, V6.B16, V6.B16
	VEOR   V7.B16, V7.B16, V7.B16
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R3)

loop:
	MOVD R5, R3
	MOVD $4, R6

quarter: // 4 of the 16 lanes
	VLD1.P 16(R1), [V0.S4]
	VORR   V19.B16, V19.B16, V1.B16
	VFMLA  V18.S4, V0.S4, V1.S4      // x = src*mul - sub
	FMAX4(23, 1, 2)
	FMIN4(24, 2, 2)                  // t = x within expLow..expHigh
	FMUL4(20, 2, 3)
	FRINTN4(3, 3)                    // n
	VFMLS  V21.S4, V3.S4, V2.S4
	VFMLS  V22.S4, V3.S4, V2.S4      // t -= n*ln 2
	VORR   V26.B16, V26.B16, V8.B16
	VFMLA  V25.S4, V2.S4, V8.S4      // Horner, ping-pong between V8 and V9
	VORR   V27.B16, V27.B16, V9.B16
	VFMLA  V8.S4, V2.S4, V9.S4
	VORR   V28.B16, V28.B16, V8.B16
	VFMLA  V9.S4, V2.S4, V8.S4
	VORR   V29.B16, V29.B16, V9.B16
	VFMLA  V8.S4, V2.S4, V9.S4
	VORR   V30.B16, V30.B16, V8.B16
	VFMLA  V9.S4, V2.S4, V8.S4
	VORR   V31.B16, V31.B16, V9.B16
	VFMLA  V8.S4, V2.S4, V9.S4
	VORR   V31.B16, V31.B16, V8.B16
	VFMLA  V9.S4, V2.S4, V8.S4       // p
	FCVTNS4(3, 3)
	VSHL   $23, V3.S4, V3.S4
	VADD   V3.S4, V8.S4, V8.S4       // p * 2^n
	FCMGE4(23, 1, 9)
	VAND   V9.B16, V8.B16, V8.B16    // 0 where x < expLow
	VST1.P [V8.S4], 16(R0)
	VLD1   (R3), [V10.S4]
	FADD4(8, 10, 10)
	VST1.P [V10.S4], 16(R3)
	SUBS   $1, R6
	BNE    quarter
	SUBS   $16, R2
	BNE    loop
	RET
