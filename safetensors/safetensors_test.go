package safetensors

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// file builds a file of any header and data.
func file(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestEncodeBytes(t *testing.T) {
	got := Encode(map[string]string{"format": "pt", "a": "b"}, []Tensor{
		F32("w", []int{1, 2}, []float32{1, -2}), Bool("m", []int{3}, []bool{true, false, true}),
	})
	want := file(`{"__metadata__":{"a":"b","format":"pt"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},`+
		`"m":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]}}  `, "\x00\x00\x80\x3f\x00\x00\x00\xc0\x01\x00\x01")
	if string(got) != string(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestElements(t *testing.T) {
	floats, err := F32("", []int{2}, []float32{float32(math.Inf(-1)), 1.5}).Float32s()
	if err != nil || floats[0] != float32(math.Inf(-1)) || floats[1] != 1.5 {
		t.Error(floats, err)
	}
	ints, err := I32("", []int{2}, []int32{-1, math.MaxInt32}).Int32s()
	if err != nil || ints[0] != -1 || ints[1] != math.MaxInt32 {
		t.Error(ints, err)
	}
	longs, err := I64("", nil, []int64{math.MinInt64}).Int64s()
	if err != nil || longs[0] != math.MinInt64 {
		t.Error(longs, err)
	}
	bools, err := Bool("", []int{2}, []bool{false, true}).Bools()
	if err != nil || bools[0] || !bools[1] {
		t.Error(bools, err)
	}
	if _, err := I32("x", nil, []int32{1}).Float32s(); err == nil {
		t.Error("I32 was read as F32")
	}
	if _, err := (Tensor{"x", dtypeBool, nil, []byte{2}}).Bools(); err == nil {
		t.Error("2 was read as a bool")
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tensors []Tensor
		names := rapid.SliceOfNDistinct(rapid.String().Filter(func(s string) bool { return s != metadataKey }), 0, 5, rapid.ID).Draw(t, "names")
		for _, name := range names {
			x := Tensor{Name: name, DType: rapid.SampledFrom([]string{"F32", "I32", "I64", "BOOL"}).Draw(t, "dtype"),
				Shape: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")}
			n, err := x.bytes(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			x.Data = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
			tensors = append(tensors, x)
		}
		meta := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "meta")
		b := Encode(meta, tensors)
		if len(b)%8 != 0 && len(tensors) == 0 {
			t.Fatalf("header of %d bytes is not padded to 8", len(b))
		}
		gotMeta, got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(meta)+len(gotMeta) > 0 && !reflect.DeepEqual(gotMeta, meta) {
			t.Fatalf("metadata %q became %q", meta, gotMeta)
		}
		if string(Encode(gotMeta, got)) != string(b) {
			t.Fatalf("encoded again the bytes differ")
		}
		for i, x := range tensors {
			if got[i].Name != x.Name || got[i].DType != x.DType || string(got[i].Data) != string(x.Data) ||
				len(got[i].Shape)+len(x.Shape) > 0 && !reflect.DeepEqual(got[i].Shape, x.Shape) {
				t.Fatalf("tensor %d: %+v became %+v", i, x, got[i])
			}
		}
	})
}

func TestDecodeAccepts(t *testing.T) {
	for header, data := range map[string]string{
		`{}`:       "",
		`{}      `: "",
		// order in the header is free, and __metadata__ may come last
		`{"b":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"},"a":{"dtype":"I32","shape":[],"data_offsets":[0,4]},"__metadata__":{}}`: "12345678",
		`{"none":{"dtype":"F32","shape":[9999999999999,9999999999999,0],"data_offsets":[0,0]}}`:                                        "",
	} {
		if _, _, err := Decode(file(header, data)); err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
	_, got, err := Decode(file(`{"b":{"dtype":"I32","shape":[],"data_offsets":[4,8]},"a":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}`, "12345678"))
	if err != nil || got[0].Name != "a" || string(got[1].Data) != "5678" {
		t.Errorf("%+v, %v: want the order of the data", got, err)
	}
}

var refused = []struct{ why, header, data string }{
	{"gap", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[4,8]}}`, "12345678"},
	{"bytes after the last", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}`, "12345678"},
	{"no tensor but data", `{}`, "1"},
	{"overlap", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I32","shape":[1],"data_offsets":[2,6]}}`, "123456"},
	{"same bytes twice", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}`, "1234"},
	{"past the end", `{"a":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}`, "1234"},
	{"size", `{"a":{"dtype":"I32","shape":[2],"data_offsets":[0,4]}}`, "1234"},
	{"backwards", `{"a":{"dtype":"I32","shape":[0],"data_offsets":[4,0]}}`, "1234"},
	{"overflow", `{"a":{"dtype":"I32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, ""},
	{"number too large", `{"a":{"dtype":"I32","shape":[99999999999999999999],"data_offsets":[0,0]}}`, ""},
	{"type", `{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, "1234"},
	{"negative", `{"a":{"dtype":"I32","shape":[-1],"data_offsets":[0,4]}}`, "1234"},
	{"fraction", `{"a":{"dtype":"I32","shape":[1.0],"data_offsets":[0,4]}}`, "1234"},
	{"null size", `{"a":{"dtype":"I32","shape":[null],"data_offsets":[0,4]}}`, "1234"},
	{"null shape", `{"a":{"dtype":"I32","shape":null,"data_offsets":[0,4]}}`, "1234"},
	{"no shape", `{"a":{"dtype":"I32","data_offsets":[0,4]}}`, "1234"},
	{"three offsets", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4,4]}}`, "1234"},
	{"unknown field", `{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4],"x":1}}`, "1234"},
	{"case", `{"a":{"DType":"I32","shape":[1],"data_offsets":[0,4]}}`, "1234"},
	{"name twice", `{"a":{"dtype":"I32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"I32","shape":[0],"data_offsets":[0,0]}}`, ""},
	{"field twice", `{"a":{"dtype":"I32","dtype":"I32","shape":[0],"data_offsets":[0,0]}}`, ""},
	{"metadata twice", `{"__metadata__":{"a":"b","a":"c"}}`, ""},
	{"metadata number", `{"__metadata__":{"a":1}}`, ""},
	{"metadata null", `{"__metadata__":null}`, ""},
	{"not an object", `[]`, ""},
	{"leading space", ` {}`, ""},
	{"trailing text", `{} x`, ""},
	{"trailing newline", "{}\n", ""},
	{"cut short", `{"a":{"dtype":"I32"`, ""},
	{"not UTF-8", "{\"\xff\":{\"dtype\":\"I32\",\"shape\":[0],\"data_offsets\":[0,0]}}", ""},
	{"empty header", ``, ""},
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range refused {
		if _, _, err := Decode(file(c.header, c.data)); err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") {
			t.Errorf("%s: %v", c.why, err)
		}
	}
	whole := Encode(map[string]string{"k": "v"}, []Tensor{I64("n", nil, []int64{7})})
	for n := range whole {
		if _, _, err := Decode(whole[:n]); err == nil {
			t.Errorf("accepted the first %d of %d bytes", n, len(whole))
		}
	}
	long := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	if _, _, err := Decode(append(long, "{}"...)); err == nil {
		t.Error("accepted a header of 2^64-1 bytes")
	}
}

func TestEncodePanics(t *testing.T) {
	for why, tensors := range map[string][]Tensor{
		"size":    {F32("a", []int{3}, []float32{1})},
		"twice":   {F32("a", nil, []float32{1}), F32("a", nil, []float32{1})},
		"name":    {F32(metadataKey, nil, []float32{1})},
		"type":    {{"a", "F16", nil, []byte{1, 2}}},
		"unicode": {F32("\xff", nil, []float32{1})},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", why)
				}
			}()
			Encode(nil, tensors)
		}()
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(map[string]string{"format": "pt"}, []Tensor{F32("w", []int{2}, []float32{1, 2}), Bool("m", []int{1}, []bool{true})}))
	for _, c := range refused {
		f.Add(file(c.header, c.data))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		meta, tensors, err := Decode(b)
		if err != nil {
			return
		}
		again, same, err := Decode(Encode(meta, tensors))
		if err != nil || len(meta) != len(again) || len(tensors) != len(same) {
			t.Fatalf("%d tensors and %d metadata became %d and %d: %v", len(tensors), len(meta), len(same), len(again), err)
		}
		for i := range tensors {
			if tensors[i].Name != same[i].Name || string(tensors[i].Data) != string(same[i].Data) {
				t.Fatalf("tensor %d differs", i)
			}
		}
	})
}
