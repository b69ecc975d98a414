package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The element types that longhaul uses, and the bytes of an element.
const (
	dtypeF32  = "F32"
	dtypeI32  = "I32"
	dtypeI64  = "I64"
	dtypeBool = "BOOL"
)

var dtypeBytes = map[string]int{dtypeF32: 4, dtypeI32: 4, dtypeI64: 8, dtypeBool: 1}

// Tensor is one named array. Data is row-major and little-endian.
type Tensor struct {
	Name  string
	DType string // F32, I32, I64 or BOOL
	Shape []int  // empty: a single number
	Data  []byte
}

// F32 makes a tensor out of v, whose length is the product of shape.
func F32(name string, shape []int, v []float32) Tensor {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return Tensor{name, dtypeF32, shape, b}
}

// I32 makes a tensor out of v, whose length is the product of shape.
func I32(name string, shape []int, v []int32) Tensor {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(x))
	}
	return Tensor{name, dtypeI32, shape, b}
}

// I64 makes a tensor out of v, whose length is the product of shape.
func I64(name string, shape []int, v []int64) Tensor {
	b := make([]byte, 8*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(x))
	}
	return Tensor{name, dtypeI64, shape, b}
}

// Bool makes a tensor out of v, whose length is the product of shape.
func Bool(name string, shape []int, v []bool) Tensor {
	b := make([]byte, len(v))
	for i, x := range v {
		if x {
			b[i] = 1
		}
	}
	return Tensor{name, dtypeBool, shape, b}
}

// Float32s copies the elements out. It fails when DType is not F32.
func (t Tensor) Float32s() ([]float32, error) {
	if err := t.want(dtypeF32); err != nil {
		return nil, err
	}
	v := make([]float32, len(t.Data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return v, nil
}

// Int32s copies the elements out. It fails when DType is not I32.
func (t Tensor) Int32s() ([]int32, error) {
	if err := t.want(dtypeI32); err != nil {
		return nil, err
	}
	v := make([]int32, len(t.Data)/4)
	for i := range v {
		v[i] = int32(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return v, nil
}

// Int64s copies the elements out. It fails when DType is not I64.
func (t Tensor) Int64s() ([]int64, error) {
	if err := t.want(dtypeI64); err != nil {
		return nil, err
	}
	v := make([]int64, len(t.Data)/8)
	for i := range v {
		v[i] = int64(binary.LittleEndian.Uint64(t.Data[8*i:]))
	}
	return v, nil
}

// Bools copies the elements out. It fails when DType is not BOOL, and on a byte other than 0 and 1.
func (t Tensor) Bools() ([]bool, error) {
	if err := t.want(dtypeBool); err != nil {
		return nil, err
	}
	v := make([]bool, len(t.Data))
	for i, b := range t.Data {
		if b > 1 {
			return nil, fmt.Errorf("tensor %q: byte %d at %d is not a BOOL", t.Name, b, i)
		}
		v[i] = b == 1
	}
	return v, nil
}

func (t Tensor) want(dtype string) error {
	if t.DType != dtype {
		return fmt.Errorf("tensor %q is %s, not %s", t.Name, t.DType, dtype)
	}
	return nil
}

// bytes is how long Data has to be; it fails on an unknown type, a negative size, and more than limit bytes.
func (t Tensor) bytes(limit int) (int, error) {
	size, ok := dtypeBytes[t.DType]
	if !ok {
		return 0, fmt.Errorf("tensor %q: type %q is not one of F32, I32, I64, BOOL", t.Name, t.DType)
	}
	empty := false
	for _, n := range t.Shape {
		if n < 0 {
			return 0, fmt.Errorf("tensor %q: shape %v", t.Name, t.Shape)
		}
		empty = empty || n == 0
	}
	if empty {
		return 0, nil
	}
	for _, n := range t.Shape {
		if n > limit/size {
			return 0, fmt.Errorf("tensor %q: shape %v needs more than the %d bytes there are", t.Name, t.Shape, limit)
		}
		size *= n
	}
	return size, nil
}
