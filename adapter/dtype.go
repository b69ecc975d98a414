package adapter

import (
	"encoding/binary"
	"fmt"
	"math"
)

// decode reads elements of a floating-point type as float32, which holds each of them exactly.
func decode(dtype string, b []byte) ([]float32, error) {
	little := binary.LittleEndian
	switch dtype {
	case "F32":
		v := make([]float32, len(b)/4)
		for i := range v {
			v[i] = math.Float32frombits(little.Uint32(b[4*i:]))
		}
		return v, nil
	case "BF16":
		v := make([]float32, len(b)/2)
		for i := range v {
			v[i] = math.Float32frombits(uint32(little.Uint16(b[2*i:])) << 16)
		}
		return v, nil
	case "F16":
		v := make([]float32, len(b)/2)
		for i := range v {
			v[i] = fromHalf(little.Uint16(b[2*i:]))
		}
		return v, nil
	}
	return nil, fmt.Errorf("its type is %s; F32, BF16 and F16 are merged", dtype)
}

// encode writes elements in a type, rounded to the nearest, ties to even.
func encode(dtype string, v []float32) ([]byte, error) {
	little := binary.LittleEndian
	switch dtype {
	case "F32":
		b := make([]byte, 4*len(v))
		for i, x := range v {
			little.PutUint32(b[4*i:], math.Float32bits(x))
		}
		return b, nil
	case "BF16":
		b := make([]byte, 2*len(v))
		for i, x := range v {
			little.PutUint16(b[2*i:], toBrain(x))
		}
		return b, nil
	case "F16":
		b := make([]byte, 2*len(v))
		for i, x := range v {
			little.PutUint16(b[2*i:], toHalf(x))
		}
		return b, nil
	}
	return nil, fmt.Errorf("its type is %s; F32, BF16 and F16 are merged", dtype)
}

func toBrain(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return uint16(bits>>16) | 0x40 // a quiet NaN stays one
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// fromHalf reads an IEEE 754 binary16.
func fromHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero, or fraction * 2^-24
		return math.Float32frombits(math.Float32bits(float32(fraction)/(1<<24)) | sign)
	case 31: // infinite, or not a number
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// toHalf rounds to binary16; beyond 65504 that is infinite.
func toHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	size := math.Abs(float64(x))
	switch {
	case x != x:
		return sign | 0x7e00
	case size < 1.0/(1<<14): // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(size*(1<<24)))
	}
	_, exponent := math.Frexp(size) // size = f 2^exponent, f in [.5, 1)
	step := math.Ldexp(1, exponent-11)
	size = math.RoundToEven(size/step) * step
	if size > 65504 {
		return sign | 0x7c00
	}
	bits = math.Float32bits(float32(size))
	return sign | uint16((bits>>23-127+15)<<10|bits>>13&0x3ff)
}
