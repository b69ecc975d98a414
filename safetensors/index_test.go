package safetensors

import (
	"bytes"
	"reflect"
	"testing"
)

func TestIndex(t *testing.T) {
	header := `{"b":{"dtype":"BF16","shape":[2,2],"data_offsets":[3,11]},"a":{"dtype":"F4","shape":[6],"data_offsets":[0,3]},"__metadata__":{"format":"pt"}}`
	content := file(header, "0123456789a")
	meta, got, err := Index(bytes.NewReader(content), int64(len(content)))
	from := int64(8 + len(header))
	want := []Place{{"a", "F4", []int{6}, from, from + 3}, {"b", "BF16", []int{2, 2}, from + 3, from + 11}}
	if err != nil || meta["format"] != "pt" || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v %v, not %v", meta, got, err, want)
	}
	for n := range content { // cut off anywhere
		if _, _, err := Index(bytes.NewReader(content[:n]), int64(n)); err == nil {
			t.Fatalf("%d of %d bytes were taken for a whole file", n, len(content))
		}
	}
	if _, _, err := Index(bytes.NewReader(append(content, 0)), int64(len(content)+1)); err == nil {
		t.Error("a byte too many was taken")
	}
	for _, header := range []string{
		`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,11]}}`,
		`{"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,11]}}`,
		`{"a":{"dtype":"U8","shape":[11],"data_offsets":[11,0]}}`,
	} {
		content := file(header, "0123456789a")
		if _, got, err := Index(bytes.NewReader(content), int64(len(content))); err == nil {
			t.Errorf("%s: %v", header, got)
		}
	}
}

// What Decode takes, Index finds in the same places; what Index refuses, Decode refuses.
func FuzzIndex(f *testing.F) {
	f.Add(Encode(map[string]string{"k": "v"}, []Tensor{F32("w", []int{2}, []float32{1, 2}), Bool("m", nil, []bool{true})}))
	f.Add(file(`{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, "xx"))
	f.Fuzz(func(t *testing.T, content []byte) {
		_, places, err := Index(bytes.NewReader(content), int64(len(content)))
		_, tensors, refused := Decode(content)
		if refused != nil {
			return
		}
		if err != nil || len(places) != len(tensors) {
			t.Fatalf("Decode finds %d tensors, Index %d: %v", len(tensors), len(places), err)
		}
		for i, p := range places {
			if p.Name != tensors[i].Name || !bytes.Equal(content[p.From:p.To], tensors[i].Data) {
				t.Errorf("%v is not %q", p, tensors[i].Name)
			}
		}
	})
}
