package envs

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// A file of tasks is read line by line, strictly, and an error names its line.
func TestTasksAreLines(t *testing.T) {
	type task struct{ Goal string }
	for _, c := range []struct {
		file, err string
		read      []string
	}{
		{"", "", nil},
		{"{\"goal\":\"a\"}\n\n \t\r\n{\"goal\":\"b\"}\r\n", "", []string{"1 a", "4 b"}},
		{"{\"goal\":\"a\"}\n{\"goal\":", "2: unexpected EOF", []string{"1 a"}},
		{`{"goal":"a","gaol":"b"}`, `1: json: unknown field "gaol"`, nil},
		{`{"goal":"a"} {"goal":"b"}`, "1: more than one task in a line", nil},
		{`{"goal":"a"} x`, "1: more than one task in a line", nil},
		{"\n{\"goal\":\"\xff\"}", "2: it is not UTF-8", nil},
		{"[]", "1: json: cannot unmarshal array into Go value of type envs.task", nil},
		{"{\"goal\":\"a\"}\n{\"goal\":\"\"}\n{\"goal\":\"b\"}", "2: it has no goal", []string{"1 a"}},
	} {
		var read []string
		err := ReadTasks([]byte(c.file), func(line int, t task) error {
			if t.Goal == "" {
				return errors.New("it has no goal")
			}
			read = append(read, fmt.Sprint(line, " ", t.Goal))
			return nil
		})
		if words(err) != c.err || !slices.Equal(read, c.read) {
			t.Errorf("%q: %q, %v, not %q, %v", c.file, read, err, c.read, c.err)
		}
	}
}
