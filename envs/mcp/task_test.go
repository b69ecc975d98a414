package mcp

import (
	"fmt"
	"testing"
)

// One goal in two lines, an unknown key, a path out of the directory.
func TestReadTasks(t *testing.T) {
	for src, want := range map[string]string{
		`{"goal":"a"}` + "\n\n" + `{"goal":"b","split":"eval","kind":"easy","files":{"x/y":"z"},"checks":[{"answer":true,"contains":"7"}],"solution":[{"tool":"t"},{"answer":"7"}]}`: "",
		"": "t: there is no task in it",
		`{"goal":"go there"}` + "\n" + `{"goal":"go  there "}`:                     "t:2: the goal is that of line 1 again, with the same files",
		`{"goal":"12 + 5?"}` + "\n" + `{"goal":"12 - 5?"}`:                         "",
		`{"goal":"a","files":{"x":"1"}}` + "\n" + `{"goal":"a","files":{"x":"2"}}`: "",
		`{"goal":"a","files":{"x":"1","x/y":"2"}}`:                                 `t:1: the file "x/y" lies in another, "x"`,
		`{"goal":"a","files":{"./x":"1"}}`:                                         `t:1: the file "./x" does not lie in {dir}`,
		`{"goal":"a","files":{".":"1"}}`:                                           `t:1: the file "." does not lie in {dir}`,
		`{"goal":"a","reward":1}`:                                                  `t:1: json: unknown field "reward"`,
		`{"goal":" "}`:                                                             "t:1: it has no goal",
		`{"goal":"a","split":"exam"}`:                                              `t:1: its split is "exam", not train or eval`,
		`{"goal":"a","files":{"../x":"y"}}`:                                        `t:1: the file "../x" does not lie in {dir}`,
		`{"goal":"a","checks":[{"answer":true}]}`:                                  "t:1: check 1: it says one of is, contains, matches and absent",
		`{"goal":"a","checks":[{"is":"x"}]}`:                                       "t:1: check 1: it is of one of answer, file and tool",
		`{"goal":"a","checks":[{"tool":"t","absent":true}]}`:                       "t:1: check 1: only a file can be absent",
		`{"goal":"a","checks":[{"answer":true,"matches":"("}]}`:                    "t:1: check 1: error parsing regexp: missing closing ): `(`",
		`{"goal":"a","solution":[{"answer":"x"},{"tool":"t"}]}`:                    "t:1: step 1 of the solution is not a call, or the answer that ends it",
		`{"goal":"a"} {"goal":"b"}`:                                                "t:1: more than one task in a line",
		"{\"goal\":\"\xff\"}":                                                      "t:1: it is not UTF-8",
	} {
		tasks, err := ReadTasks("t", []byte(src))
		if fmt.Sprint(err) != want && !(err == nil && want == "") {
			t.Errorf("%s: %v", src, err)
		}
		if want == "" && len(tasks) != 2 {
			t.Errorf("%+v", tasks)
		}
	}
}

func FuzzReadTasks(f *testing.F) {
	f.Add([]byte(`{"goal":"a","files":{"x":"y"},"checks":[{"tool":"t","arguments":{},"matches":"a+"}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		tasks, err := ReadTasks("t", src)
		if (err == nil) == (len(tasks) == 0) {
			t.Fatal(len(tasks), err)
		}
		for _, task := range tasks {
			if task.Valid() != nil {
				t.Fatalf("%+v", task)
			}
			for _, c := range task.Checks {
				c.holds("text")
			}
		}
	})
}
