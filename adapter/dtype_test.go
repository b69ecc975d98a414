package adapter

import (
	"math"
	"testing"
)

// Every number of the two short types is what it was after a round trip.
func TestShortTypesRoundTrip(t *testing.T) {
	for _, dtype := range []string{"F16", "BF16"} {
		b := make([]byte, 2<<16)
		for i := range 1 << 16 {
			b[2*i], b[2*i+1] = byte(i), byte(i>>8)
		}
		v, err := decode(dtype, b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := encode(dtype, v)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range v {
			if x == x && (again[2*i] != b[2*i] || again[2*i+1] != b[2*i+1]) {
				t.Fatalf("%s %#x is %v, and that %#x", dtype, i, x, uint16(again[2*i])|uint16(again[2*i+1])<<8)
			}
		}
	}
}

// Literal values: IEEE 754 binary16 and bfloat16, round to nearest, ties to even.
func TestRounding(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		x           float32
		half, brain uint16
	}{
		{1, 0x3c00, 0x3f80}, {-2, 0xc000, 0xc000}, {0, 0, 0}, {inf, 0x7c00, 0x7f80}, {-inf, 0xfc00, 0xff80},
		{65504, 0x7bff, 0x4780}, {65519, 0x7bff, 0x4780}, {65520, 0x7c00, 0x4780},
		{1 + 1./2048, 0x3c00, 0x3f80},               // half-way between two halves: to the even one
		{1 + 3./2048, 0x3c02, 0x3f80},               // and here up
		{1 + 1./256, 0x3c04, 0x3f80},                // half-way between two bfloat16
		{1 + 3./256, 0x3c0c, 0x3f82},                // and here up
		{1. / (1 << 24), 0x0001, 0x3380},            // the smallest half
		{1. / (1 << 25), 0x0000, 0x3300},            // half of it: to the even one, 0
		{1. / (1 << 14), 0x0400, 0x3880},            // the smallest normal half
		{(1 - 1./4096) / (1 << 14), 0x0400, 0x3880}, // rounds up to it
	} {
		if h, b := toHalf(c.x), toBrain(c.x); h != c.half || b != c.brain {
			t.Errorf("%v: %#04x %#04x, not %#04x %#04x", c.x, h, b, c.half, c.brain)
		}
	}
}
