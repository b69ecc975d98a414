package process

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		line string
		to   interface{ whole() error }
		want string // the error
	}{
		{`{"id":1,"observation":""}`, &resetReply{}, ""},
		{` {"id":1,"observation":"\ud800"} `, &resetReply{}, ""},
		{`{"id":1}`, &resetReply{}, "it has no observation"},
		{`{"id":1,"observation":"x","seed":1}`, &resetReply{}, `json: unknown field "seed"`},
		{`{"id":1,"done":true}`, &stepReply{}, ""},
		{`{"id":1,"observation":"x","reward":1e999}`, &stepReply{}, "json: cannot unmarshal number 1e999 into Go struct field stepReply.reward of type float64"},
		{`{"id":1,"observation":"x"}{"id":2}`, &stepReply{}, "invalid character '{' after top-level value"},
		{`{"id":1,"score":0}`, &scoreReply{}, ""},
		{`{"id":1,"unscored":"no judge"}`, &scoreReply{}, ""},
		{`{"id":1,"score":1,"unscored":"no judge"}`, &scoreReply{}, "it has to have either score or unscored"},
		{`{"id":1}`, &scoreReply{}, "it has to have either score or unscored"},
		{`{"id":1,"score":null}`, &scoreReply{}, "it has to have either score or unscored"},
		{`{"id":1,"score":"0.8"}`, &scoreReply{}, "json: cannot unmarshal string into Go struct field scoreReply.score of type float64"},
		{`{"id":1}`, &snapshotReply{}, "it has no snapshot"},
		{`{"id":1,"snapshot":12345678901234567890}`, &snapshotReply{}, ""},
		{`{"id":1,"calls":[{"name":"go"}]}`, &referenceReply{}, "calls[0] has no name, or no arguments"},
		{`{"id":1}`, &head{}, ""},
		{`{"observation":"x"}`, &resetReply{}, "it has no id"},
		{`{"id":1.5}`, &head{}, "json: cannot unmarshal number 1.5 into Go struct field head.id of type int64"},
	} {
		r, ok, err := parse([]byte(c.line))
		if ok && err == nil {
			err = r.into(c.to)
		}
		if said := words(err); !ok || said != c.want {
			t.Errorf("%s: %q, not %q", c.line, said, c.want)
		}
	}
	for _, noise := range []string{"", "  ", "loading", "[1]", "7", "null", "\x00{}"} {
		if _, ok, _ := parse([]byte(noise)); ok {
			t.Errorf("%q passes for a reply", noise)
		}
	}
	if r, _, err := parse([]byte(`{"id":1,"error":""}`)); err != nil || r.err != "an error without words" {
		t.Errorf("%+v, %v", r, err)
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestHello(t *testing.T) {
	const right = `{"id":1,"protocol":1,"name":"n","tools":[{"name":"go","description":"Goes.","parameters":{"type":"object"},"effect":"pure"}],"tasks":{"train":5,"eval":2}}`
	for _, c := range []struct{ old, new, want string }{
		{``, ``, ""},
		{`"protocol":1`, `"protocol":2`, "protocol is 2, and 1 is spoken here"},
		{`"name":"n"`, `"name":""`, "it has no name"},
		{`[{`, `[{"timeout_seconds":-1,`, "tools[0]: a limit of go is negative"},
		{`"name":"go"`, `"name":"go there"`, `tools[0].name: "go there" is no name of a tool: 1 to 64 of a-z A-Z 0-9 _ -, and not final_text`},
		{`"name":"go"`, `"name":"final_text"`, `tools[0].name: "final_text" is no name of a tool: 1 to 64 of a-z A-Z 0-9 _ -, and not final_text`},
		{`"Goes."`, `""`, "tools[0].description: go has none"},
		{`{"type":"object"}`, `true`, "tools[0].parameters: those of go are no JSON schema of an object"},
		{`"pure"`, `"read"`, `tools[0].effect: "read" of go is not pure, episode_local, external_idempotent or external_once`},
		{`"effect":"pure"}`, `"effect":"pure"},{"name":"go","description":"Goes.","parameters":{},"effect":"pure"}`, "tools[1].name: two tools are called go"},
		{`"train":5`, `"train":0`, "tasks.train is how many tasks there are to train on, at least 1"},
		{`"eval":2`, `"test":2`, "tasks.test is 2; the splits are train, eval and warm_up"},
		{`"eval":2`, `"eval":-2`, "tasks.eval is -2; the splits are train, eval and warm_up"},
		{`"eval":2`, `"warm_up":2`, "tasks.warm_up are shown as they are solved, which takes a reference"},
		{`"tasks"`, `"episodes":-1,"tasks"`, "episodes is -1"},
		{`"tasks"`, `"snapshot":true,"tasks"`, `json: unknown field "snapshot"`},
	} {
		r, _, err := parse([]byte(strings.Replace(right, c.old, c.new, 1)))
		if err == nil {
			err = r.into(&hello{})
		}
		if said := words(err); said != c.want {
			t.Errorf("%s: %q, not %q", c.new, said, c.want)
		}
	}
	var h hello
	if err := json.Unmarshal([]byte(right), &h); err != nil {
		t.Fatal(err)
	}
	if s := h.spec(); s.Tools[0].OutputCap != 16384 || s.Tools[0].Effect != envs.Pure || s.Tools[0].Timeout != 0 {
		t.Errorf("%+v", s)
	}
	h.Tools = nil
	if err := h.whole(); words(err) != "it has no tools, and text_ends is not true: there is nothing that an agent could do" {
		t.Error(err)
	}
}

// Whatever a program writes is read or refused, and what is read is whole and can be written down.
func FuzzReply(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"observation":"x","done":true,"reward":-0.5}`, `{"id":1,"error":"no"}`, `{"id":1,"score":1,"metrics":{"a":1e3}}`, `{"id":1,"snapshot":{"a":[1]}}`,
		`{"id":1,"calls":[{"name":"go","arguments":{}}]}`, `{"id":1,"protocol":1,"name":"n","text_ends":true,"tasks":{"train":1}}`, `{`, `{"id":1e1}`, "\xff", `{"id":1,"observation":"\ud800"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok, err := parse(line)
		if !ok || err != nil {
			return
		}
		var (
			step      stepReply
			score     scoreReply
			snapshot  snapshotReply
			reference referenceReply
			said      hello
		)
		for _, to := range []interface{ whole() error }{&resetReply{}, &step, &score, &snapshot, &reference, &said, &head{}} {
			if r.into(to) != nil {
				continue
			}
			again, ok, err := parse(rl.CanonicalJSON(to))
			if !ok || err != nil || again.id != r.id {
				t.Errorf("%s became %s: %v", line, rl.CanonicalJSON(to), err)
			}
			if to == &said {
				said.spec()
			}
		}
	})
}
