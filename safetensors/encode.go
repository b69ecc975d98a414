package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// metadataKey names the header's string-to-string map; no tensor may be called so.
const metadataKey = "__metadata__"

// Encode writes a file: the metadata by sorted key, the tensors in the order given. The header is filled up
// with spaces so that the data begin at a multiple of 8. Tensors whose Data, Shape and DType disagree, names
// that are taken twice and strings that are not UTF-8 are mistakes of the program, and panic.
func Encode(meta map[string]string, tensors []Tensor) []byte {
	header := []byte{'{'}
	field := func(key string, v any) {
		if len(header) > 1 {
			header = append(header, ',')
		}
		header = append(append(append(header, quote(key)...), ':'), marshal(v)...)
	}
	if len(meta) > 0 {
		for k, v := range meta {
			quote(k)
			quote(v)
		}
		field(metadataKey, meta)
	}
	total, seen := 0, map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if n, err := t.bytes(math.MaxInt); err != nil || n != len(t.Data) || seen[t.Name] {
			panic(fmt.Sprintf("safetensors: tensor %q: name taken, or %d bytes for %s %v", t.Name, len(t.Data), t.DType, t.Shape))
		}
		seen[t.Name] = true
		field(t.Name, entry{t.DType, append([]int{}, t.Shape...), []int{total, total + len(t.Data)}})
		total += len(t.Data)
	}
	header = append(header, '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	file := make([]byte, 8, 8+len(header)+total)
	binary.LittleEndian.PutUint64(file, uint64(len(header)))
	file = append(file, header...)
	for _, t := range tensors {
		file = append(file, t.Data...)
	}
	return file
}

// entry is a tensor's line in the header.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"`
}

func quote(s string) []byte {
	if !utf8.ValidString(s) {
		panic(fmt.Sprintf("safetensors: %q is not UTF-8", s))
	}
	return marshal(s)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, ints and maps of strings can be marshalled
	}
	return b
}
