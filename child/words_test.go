package child

import (
	"reflect"
	"testing"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`python3 agent.py`:          {"python3", "agent.py"},
		`  a  "b c" 'd e'f `:        {"a", "b c", "d ef"},
		`a "" 'it "is"' "it's"`:     {"a", "", `it "is"`, "it's"},
		`a\ b "c\"d" 'e\f'`:         {"a b", `c"d`, `e\f`},
		`sh -c 'echo "$0"; ls | x'`: {"sh", "-c", `echo "$0"; ls | x`},
		`a "b`:                      nil,
		`  `:                        nil,
		``:                          nil,
	} {
		got, err := Words(line)
		if !reflect.DeepEqual(got, want) || (err == nil) == (want == nil) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}
