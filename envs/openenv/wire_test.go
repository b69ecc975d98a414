package openenv

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

func schemaFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "action.json")
	if err := os.WriteFile(file, []byte(`{"type":"object","properties":{"add":{"type":"integer"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ observation, show, want string }{
		{`{"text":"hello\n","metadata":{"a":1}}`, "", "hello\n"},
		{`{"b":1.0, "a":12345678901234567890, "metadata":{}}`, "", `{"b":1.0,"a":12345678901234567890}`},
		{`{"b":[1, 2],"a":{"x" : null}}`, "a", `{"x" : null}`},
		{`{"b":1,"a":2,"metadata":{"m":3}}`, "metadata,b", `{"b":1,"metadata":{"m":3}}`},
		{`{"b":1}`, "c", `{}`},
		{`"only words"`, "", "only words"},
		{`[1, 2]`, "", "[1, 2]"},
		{`null`, "", "null"},
		{`{"a":null}`, "a", "null"},
		{``, "", ""},
	} {
		var show []string
		if c.show != "" {
			show = strings.Split(c.show, ",")
		}
		if got := render(json.RawMessage(c.observation), show); got != c.want {
			t.Errorf("%s by %q: %q, not %q", c.observation, c.show, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{`{"type":"observation","data":{"observation":{},"reward":0.5,"done":true}}`, ""},
		{`{"type":"error","data":{"message":"m","code":"SESSION_ERROR"}}`, "SESSION_ERROR: m"},
		{`{"type":"error","data":{}}`, `"{}" is no error`},
		{`{"type":"state","data":{}}`, `a message of type "state", where an observation was due`},
		{`{"type":"observation","data":{"reward":"much"}}`, `the reward "much" is no number to learn from`},
		{`{"type":"observation","data":{"reward":NaN}}`, `is no message`},
		{`{"type":"observation","data":{"reward":1e25}}`, `the reward 1e25 is no number to learn from`},
		{`null`, `a message of type "", where an observation was due`},
	} {
		_, err := parse([]byte(c.message))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.message, err)
		}
	}
}

func TestTasksOfAFile(t *testing.T) {
	file := `{"goal":"Count to 100.","kind":"easy","reset":{"seed":7,"level":"1.0"}}

{"split":"eval"}
{}
`
	list, err := parseTasks([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if n := list.count(); n(rl.Train) != 2 || n(rl.Eval) != 1 || n(rl.WarmUp) != 0 {
		t.Errorf("%+v", list)
	}
	if task := list.task(rl.Train, 0); task.Kind != "easy" || task.ID != "train-0" || string(list.reset(task)) != `{"level":"1.0","seed":7}` {
		t.Errorf("%+v, %s", task, list.reset(task))
	}
	if _, known := list.line(rl.Train, 2); known {
		t.Error("there is no third task")
	}
	for bad, want := range map[string]string{
		"{}\n{\"gaol\":1}":    `line 2: json: unknown field "gaol"`,
		"{} {}":               "line 1: more than one task",
		`{"split":"warm_up"}`: `line 1: the split "warm_up" is neither train nor eval`,
		"[]":                  "line 1: json: cannot unmarshal",
	} {
		if _, err := parseTasks([]byte(bad)); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSeedsOfTasksDiffer(t *testing.T) {
	seen := map[string]bool{}
	var none *taskList
	for _, split := range []rl.Split{rl.Train, rl.Eval} {
		for i := range 2000 {
			seen[string(none.reset(none.task(split, i)))] = true
		}
	}
	if len(seen) < 3999 {
		t.Errorf("%d different resets of 4000 tasks", len(seen))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"observation","data":{"observation":{"a":[1]},"reward":true,"done":false,"metadata":{}}}`))
	f.Add([]byte(`{"type":"error","data":{"message":"m","code":"VALIDATION_ERROR","errors":[{"loc":["a",0],"msg":"x"}]}}`))
	f.Add([]byte(`{"type":"observation","data":{"reward":1e999}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		s, err := parse(message)
		if err != nil {
			return
		}
		if s.reward != nil && (math.IsNaN(*s.reward) || !rl.Countable(*s.reward)) {
			t.Errorf("%s: a reward of %g", message, *s.reward)
		}
		shown := render(s.observation, nil)
		if !utf8.ValidString(shown) && utf8.Valid(message) {
			t.Errorf("%q of valid UTF-8", shown)
		}
		if all, ok := fields(s.observation); ok && !json.Valid(object(all)) {
			t.Errorf("%s is rendered as %s", s.observation, object(all))
		}
	})
}

// An action that passes reads as valid text wherever it is read, and is within Python's limits.
func FuzzUnfit(f *testing.F) {
	for _, s := range []string{`{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `["\\ud800"]`, `{"a":"\ud83dx"}`, `"\udc00`, `[[[[1]]]]`, `{"a":"x\"y","b":1.5e3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, action []byte) {
		wrong := unfit(action)
		if !json.Valid(action) || !utf8.Valid(action) {
			return
		}
		var v any
		d := json.NewDecoder(strings.NewReader(string(action)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		halves := strings.Count(string(rl.CanonicalJSON(v)), "\uFFFD") > strings.Count(string(action), "\uFFFD")+strings.Count(strings.ToLower(string(action)), `\ufffd`)
		if halves != strings.Contains(wrong, "surrogate") && !strings.Contains(wrong, "nested") && !strings.Contains(wrong, "digits") && !duplicated(action) {
			t.Errorf("%q: %q, but half a pair is there: %v", action, wrong, halves)
		}
	})
}

// duplicated reports whether some object of a JSON text may have a key twice, of which a decoder keeps one.
func duplicated(action []byte) bool { return strings.Count(string(action), ":") > 1 }

func FuzzTasks(f *testing.F) {
	f.Add([]byte("{\"goal\":\"g\"}\n{\"split\":\"eval\",\"reset\":{\"seed\":1}}\n"))
	f.Add([]byte("{\"reset\":{\"a\":1,\"a\":2}}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		list, err := parseTasks(file)
		if err != nil {
			if rl.KindOf(err) != rl.Invalid {
				t.Error(err)
			}
			return
		}
		for split, lines := range list.lines {
			for i := range lines {
				if !json.Valid(list.reset(list.task(split, i))) {
					t.Errorf("task %d of %s", i, split)
				}
			}
		}
	})
}
