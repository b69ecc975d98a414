package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxHeader is the format's limit on the header's length.
const maxHeader = 100_000_000

// Decode reads a file. The tensors come in the order of their data, which is the order in which Encode got them;
// their Data are parts of file, not copies. It fails, saying what is wrong, on anything that is not exactly a
// safetensors file of the types F32, I32, I64 and BOOL: bytes missing or left over, data that overlap or leave
// a gap, sizes that do not fit shape and type, names twice, unknown fields, a header that is too long, does not
// begin with { or goes on after its end.
func Decode(file []byte) (meta map[string]string, tensors []Tensor, err error) {
	header, data, err := split(file)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	meta, found, err := parseHeader(header)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w", err)
	}
	tensors, err = cut(found, data)
	if err != nil {
		return nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	return meta, tensors, nil
}

func split(file []byte) (header, data []byte, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("%d bytes are too few", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("header of %d bytes in a file of %d (limit %d)", n, len(file), maxHeader)
	}
	header, data = file[8:8+n], file[8+n:]
	if !bytes.HasPrefix(header, []byte("{")) || !utf8.Valid(header) {
		return nil, nil, fmt.Errorf("the header is not a JSON object in UTF-8")
	}
	return header, data, nil
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
