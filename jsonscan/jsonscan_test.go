package jsonscan

import (
	"encoding/json"
	"testing"
)

// What is accepted is what encoding/json gives.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		`0`, `-0`, `-12`, `01`, `2147483647`, `2147483648`, `-2147483648`, `9223372036854775807`, `9223372036854775808`, `1.5`, `1.`, `.5`, `-`, `1e5`, `1E+400`, `+1`,
		`"a"`, `"a\"\\\/"`, `"\u003c\ud83d"`, "\"\xff\"", "\"\t\"", `"a`, `"\x"`, `"\`, `true`, `tru`, `null`, ` 1`, ``,
		`[1,2]`, `[1,]`, `[,1]`, `[1 ,2]`, `[]`, `[[{"a":{"b":[null,true,"x"]},"":-1.5e-3}]]`, `{"a":1,}`, `{"a" :1}`, `{1:2}`, `[`, `{`, `{"a"`, `{"a":`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s := New(text); true {
			if s.Skip(); s.Done() && !json.Valid([]byte(text)) {
				t.Errorf("%q is passed over", text)
			}
		}
		same(t, text, (*Scanner).Text)
		same(t, text, (*Scanner).Bool)
		same(t, text, (*Scanner).Int32s)
		same(t, text, func(s *Scanner) int32 { return int32(s.Int(32)) })
		same(t, text, func(s *Scanner) int64 { return s.Int(64) })
		same(t, text, func(s *Scanner) float32 { return float32(s.Float(32)) })
		same(t, text, func(s *Scanner) float64 { return s.Float(64) })
	})
}

func same[T any](t *testing.T, text string, read func(*Scanner) T) {
	t.Helper()
	s := New(text)
	got := read(&s)
	if !s.Done() {
		return
	}
	var want T
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Errorf("%q read as %v: %v", text, got, err)
		return
	}
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("%q read as %s, not %s", text, g, w)
	}
}

func TestMembers(t *testing.T) {
	names := []string{"a", "b"}
	for text, want := range map[string]bool{
		`{"a":1,"b":2}`: true, `{"b":1}`: true, `{}`: true, `{"a":1,"a":2}`: false, `{"A":1}`: false, `{"c":1}`: false,
		`{"\u0061":1}`: false, `{"a":1}}`: false, `{"a":1`: false, `{"a":1 }`: false, `[]`: false,
	} {
		s, seen := New(text), uint64(0)
		for s.Open('{'); s.More('}'); {
			s.Member(names, &seen)
			s.Int(64)
		}
		if s.Done() != want {
			t.Errorf("%s: %v", text, s.Done())
		}
	}
}

func TestOneOf(t *testing.T) {
	known := []string{"", `[1]`, `[{"a":1}]`}
	s := New(`[[{"a":1}],[2]]`)
	s.Open('[')
	if i := s.OneOf(len(known), func(i int) string { return known[i] }); !s.More(']') || i != 2 {
		t.Error(i)
	}
	if i := s.OneOf(len(known), func(i int) string { return known[i] }); i != -1 || s.More(']') || s.Done() {
		t.Error(i)
	}
}
