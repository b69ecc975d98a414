package safetensors

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// maxHeader is the format's limit on the header's length.
const maxHeader = 100_000_000

// Decode reads a file. The tensors come in the order of their data, which is the order in which Encode got them;
// their Data are parts of file, not copies. It fails, saying what is wrong, on anything that is not exactly a
// safetensors file of the types F32, I32, I64 and BOOL: bytes missing or left over, data that overlap or leave
// a gap, sizes that do not fit shape and type, names twice, unknown fields, a header that is too long, does not
// begin with { or goes on after its end.
func Decode(file []byte) (meta map[string]string, tensors []Tensor, err error) {
	header, err := readHeader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	meta, found, err := parseHeader(header)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w", err)
	}
	tensors, err = cut(found, file[8+len(header):])
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	return meta, tensors, nil
}

// placed is a tensor whose data lie at from..to.
type placed struct {
	Tensor
	from, to int
}

// cut gives the tensors their data, which must fill up data exactly.
func cut(found []placed, data []byte) ([]Tensor, error) {
	slices.SortStableFunc(found, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	tensors, end := make([]Tensor, 0, len(found)), 0
	for _, t := range found {
		size, err := t.bytes(len(data))
		if err != nil {
			return nil, err
		}
		if t.from != end || t.to > len(data) || t.to-t.from != size {
			return nil, fmt.Errorf("tensor %q: bytes %d to %d of %d, for %s %v after byte %d",
				t.Name, t.from, t.to, len(data), t.DType, t.Shape, end)
		}
		t.Data = data[t.from:t.to:t.to]
		tensors, end = append(tensors, t.Tensor), t.to
	}
	if end != len(data) {
		return nil, fmt.Errorf("%d bytes after the last tensor", len(data)-end)
	}
	return tensors, nil
}
