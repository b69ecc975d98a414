package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Place is where a tensor lies in a file.
type Place struct {
	Name     string
	DType    string // any, also one whose elements this package does not read
	Shape    []int
	From, To int64 // its bytes in the file
}

// elementBytes are the sizes of the format's other types, as far as they are whole bytes.
var elementBytes = map[string]int64{
	dtypeF32: 4, dtypeI32: 4, dtypeI64: 8, dtypeBool: 1, "F64": 8, "F16": 2, "BF16": 2, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "U64": 8,
	"F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
}

// Index reads what a file of size bytes says of its tensors, in the order of their data, and none of their data: a model's
// weights need not fit in memory. It fails on what Decode fails on, but takes tensors of any type; a file that was cut
// off is one of these.
func Index(r io.ReaderAt, size int64) (meta map[string]string, tensors []Place, err error) {
	header, err := readHeader(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	meta, found, err := parseHeader(header)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w", err)
	}
	slices.SortStableFunc(found, func(a, b placed) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	data := 8 + int64(len(header))
	end := data
	for _, t := range found {
		p := Place{t.Name, t.DType, t.Shape, data + int64(t.from), data + int64(t.to)}
		if p.From != end || p.To < p.From || p.To > size || !p.fits() {
			return nil, nil, fmt.Errorf("safetensors: tensor %q: bytes %d to %d of %d, for %s %v after byte %d", p.Name, p.From, p.To, size, p.DType, p.Shape, end)
		}
		tensors, end = append(tensors, p), p.To
	}
	if end != size {
		return nil, nil, fmt.Errorf("safetensors: %d bytes after the last tensor", size-end)
	}
	return meta, tensors, nil
}

func readHeader(r io.ReaderAt, size int64) ([]byte, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%d bytes are too few", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || n > uint64(size-8) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d (limit %d)", n, size, maxHeader)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil && err != io.EOF {
		return nil, err
	}
	if !bytes.HasPrefix(header, []byte("{")) || !utf8.Valid(header) {
		return nil, fmt.Errorf("the header is not a JSON object in UTF-8")
	}
	return header, nil
}

// fits reports whether the bytes are as many as type and shape ask for, where the type is known.
func (p Place) fits() bool {
	n, known := elementBytes[p.DType]
	for _, d := range p.Shape {
		if known && d > 0 && n > math.MaxInt64/int64(d) {
			return false
		}
		n *= int64(d)
	}
	return !known || n == p.To-p.From
}
