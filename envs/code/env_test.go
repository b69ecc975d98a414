package code

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// worldOf opens the world of a configuration, complete but for what is given.
func worldOf(t *testing.T, c rl.CodeConfig) envs.World {
	t.Helper()
	w, err := open(rl.EnvConfig{Use: "code", Code: usualConfig(c)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func usualConfig(c rl.CodeConfig) rl.CodeConfig {
	c.Timeout, c.Files, c.DiskMB, c.OutputBytes = rl.Duration(10*time.Second), 50, 2, 1000
	if c.MemoryMB == 0 {
		c.MemoryMB = 16
	}
	return c
}

func call(name string, arguments ...string) envs.Call {
	given := map[string]string{}
	for i := 0; i < len(arguments); i += 2 {
		given[arguments[i]] = arguments[i+1]
	}
	return envs.Call{ToolCall: rl.ToolCall{Name: name, Arguments: rl.CanonicalJSON(given)}}
}

func mustStep(t *testing.T, env envs.Env, c envs.Call) envs.Result {
	t.Helper()
	r, err := env.Step(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return r
}

func score(t *testing.T, env envs.Env) rl.Score {
	t.Helper()
	s, err := env.Score(t.Context())
	if err != nil || !s.Scored() {
		t.Fatalf("%+v, %v", s, err)
	}
	return s
}

func TestEpisode(t *testing.T) {
	w := worldOf(t, rl.CodeConfig{})
	env := w.New()
	o, err := env.Reset(t.Context(), w.Task(rl.Train, 0))
	if err != nil || !strings.Contains(o.Messages[0].Content, "transform(xs)") {
		t.Fatalf("%+v, %v", o, err)
	}
	if s := score(t, env); s.Value != 0 || s.Metrics["passed"] != 0 || s.Reason != "test 1 of 12 failed" {
		t.Errorf("nothing is written, and the score is %+v", s)
	}
	for _, step := range []struct {
		call envs.Call
		want string
	}{
		{call("write_file", "path", "notes/a.txt", "content", "héllo"), "wrote 6 bytes to notes/a.txt"},
		{call("read_file", "path", "/task/notes/a.txt"), "héllo"},
		{call("run_python", "code", "print(open('notes/a.txt').read())\nopen('b', 'w').write('1')"), "héllo\n"},
		{call("read_file", "path", "b"), "1"},
		{call("read_file", "path", "c"), "there is no file c"},
		{call("read_file", "path", "../b"), `"../b" is no path of a file in the working directory`},
		{call("write_file", "path", "/etc/passwd", "content", ""), `"/etc/passwd" is no path of a file in the working directory`},
		{call("write_file", "path", "b/c", "content", ""), "b is a file"},
		{call("write_file", "path", "notes", "content", ""), "notes is a directory"},
		{call("write_file", "path", "big", "content", strings.Repeat("x", mostSource+1)), "bad call: one call takes at most 98304 bytes"},
		{call("run_shell", "command", "ls"), `bad call: there is no tool "run_shell"; the tools are run_python, write_file, read_file, submit`},
		{call("run_python", "code", "print(1)\x00"), "bad call: there is no NUL in a program"},
		{call("run_python"), `bad call: run_python needs "code"`},
		{call("submit"), "submitted"},
		{call("read_file", "path", "b"), "closed"},
	} {
		if r := mustStep(t, env, step.call); r.Content != step.want {
			t.Errorf("%s: %q, not %q", step.call.Arguments, r.Content, step.want)
		}
	}
}

// Whatever a solution does to look right, only right results count.
func TestSolutionsThatCheat(t *testing.T) {
	w := worldOf(t, rl.CodeConfig{})
	p := made(rl.Train, 5)
	mark := `import sys, builtins, json`
	for name, solution := range map[string]string{
		"none":         "",
		"no such name": "def other(xs): return 1",
		"constant":     "def transform(xs): return " + string(p.Tests[0].Want),
		"always equal": "class E(list):\n    def __eq__(self, o): return True\ndef transform(xs): return E()",
		"exits":        "import sys\nsys.exit(0)",
		"exits later":  "import sys\ndef transform(xs): sys.exit(0)",
		"prints":       "def transform(xs):\n    print('[]')\n    print('all tests pass')\n    raise SystemExit(0)",
		"other json":   mark + "\njson.dumps = lambda x: 'true'\ndef transform(xs): return 0",
		"other print":  mark + "\nbuiltins.print = lambda *a: None\ndef transform(xs): return 0",
		"loops":        "def transform(xs):\n    while True: pass",
		"endless":      "def transform(xs):\n    while True: print('x')",
		"reads":        "import os\ndef transform(xs):\n    print(os.listdir('.'))\n    return 0",
	} {
		t.Run(name, func(t *testing.T) {
			c := usualConfig(rl.CodeConfig{})
			c.Timeout = rl.Duration(time.Second)
			w, err := open(rl.EnvConfig{Use: "code", Code: c})
			if err != nil {
				t.Fatal(err)
			}
			env := w.New()
			if _, err := env.Reset(t.Context(), w.Task(rl.Train, 5)); err != nil {
				t.Fatal(err)
			}
			mustStep(t, env, call("write_file", "path", "solution.py", "content", solution))
			if s := score(t, env); s.Value != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
	env := w.New()
	env.Reset(t.Context(), w.Task(rl.Train, 5))
	mustStep(t, env, call("write_file", "path", "solution.py", "content", "print('noise')\n"+p.Reference))
	if s := score(t, env); s.Value != 1 || s.Metrics["passed"] != 1 {
		t.Errorf("the reference, with noise: %+v", s)
	}
}

// The tasks' own solutions pass their tests, in every sandbox; the two sides share no function; and what is made is the same
// each time.
func TestMadeTasks(t *testing.T) {
	facts := map[rl.Split]map[string]bool{rl.Train: {}, rl.Eval: {}}
	for split := range facts {
		for i := range 500 {
			p := made(split, i)
			facts[split][p.fact] = true
			if len(p.Tests) != madeTests || string(rl.CanonicalJSON(p)) != string(rl.CanonicalJSON(made(split, i))) {
				t.Fatalf("%+v", p)
			}
		}
	}
	for f := range facts[rl.Eval] {
		if facts[rl.Train][f] {
			t.Errorf("on both sides: %s", f)
		}
	}
	if len(facts[rl.Train]) < 450 || len(facts[rl.Eval]) < 450 {
		t.Errorf("%d and %d different functions of 500", len(facts[rl.Train]), len(facts[rl.Eval]))
	}
	for name, box := range sandboxes(t, usual) {
		n := map[string]int{"micropython": 150, "bubblewrap": 8, "container": 2}[name]
		for i := range n {
			p := made(rl.Train, i)
			passed, why, err := grade(t.Context(), box, tree{"solution.py": []byte(p.Reference)}, p, 1)
			if err != nil || passed != len(p.Tests) {
				t.Fatalf("%s: %d pass: %s, %v\n%s\n%s", name, passed, why, err, p.Goal, p.Reference)
			}
		}
	}
}

func TestSnapshots(t *testing.T) {
	w := worldOf(t, rl.CodeConfig{})
	a, b := w.New(), w.New()
	a.Reset(t.Context(), w.Task(rl.Eval, 9))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		mustStep(t, a, call("run_python", "code", "import os, random\nos.mkdir('d"+string(rune('a'+i))+"')\nopen('f', 'a').write(str(random.random()))"))
		if rng.IntN(3) > 0 {
			continue
		}
		snapshot, err := a.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Restore(t.Context(), snapshot); err != nil {
			t.Fatal(err)
		}
		again, err := b.Snapshot(t.Context())
		if err != nil || !bytes.Equal(snapshot, again) {
			t.Fatalf("%q is not %q, %v", again, snapshot, err)
		}
		a, b = b, a
	}
	if r := mustStep(t, a, call("run_python", "code", "import os\nprint(len(os.listdir('.')))")); r.Content != "21\n" {
		t.Errorf("%q", r.Content)
	}
	for _, bad := range []string{"", "{}", "null\n", `{"split":"eval","index":-1,"calls":0}` + "\n", `{"split":"eval","index":1,"calls":0}` + "\ngarbage"} {
		sum := sha256.Sum256([]byte(bad))
		if err := b.Restore(t.Context(), []byte(bad)); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%q: %v", bad, err)
		}
		if err := b.Restore(t.Context(), append(sum[:], bad...)); rl.KindOf(err) != rl.Corrupt {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMisuse(t *testing.T) {
	w := worldOf(t, rl.CodeConfig{})
	env := w.New()
	if _, err := env.Step(t.Context(), call("submit")); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Step before Reset: %v", err)
	}
	if _, err := env.Snapshot(t.Context()); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Snapshot before Reset: %v", err)
	}
	if _, err := env.Score(t.Context()); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Score before Reset: %v", err)
	}
	foreign := w.Task(rl.Train, 0)
	foreign.Env = "orders"
	for _, task := range []rl.Task{{}, foreign, w.Task("exam", 0), w.Task(rl.Train, -1)} {
		if _, err := env.Reset(t.Context(), task); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Reset of %+v: %v", task, err)
		}
	}
}

func TestSandboxesThatAreNotHereAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // a box of root's is nobody's
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	says := func(name, words string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+words+"' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	boxed := rl.CodeConfig{Sandbox: "bubblewrap", MemoryMB: 256, Processes: 8}
	contained := rl.CodeConfig{Sandbox: "container", Runtime: "docker", Image: "python:3.13-slim", MemoryMB: 256, Processes: 8}
	const kernel, daemon = "bwrap: No permissions to create new namespace", "Cannot connect to the Docker daemon"
	for _, c := range []struct {
		config rl.CodeConfig
		want   string
	}{
		{boxed, "env.code.sandbox: bubblewrap is not installed"}, {contained, "env.code.runtime: docker is not installed"},
		{boxed, "env.code.sandbox: bubblewrap makes no sandbox here: exit status 1\n" + kernel}, {contained, "env.code.sandbox: docker makes no sandbox here: exit status 1\n" + daemon},
	} {
		t.Setenv("PATH", dir)
		if _, err := open(rl.EnvConfig{Use: "code", Code: usualConfig(c.config)}); rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nnot %s", err, c.want)
		}
		if c.config == contained {
			says("bwrap", kernel)
			says("docker", daemon)
		}
	}
}

func TestFuzzedCalls(t *testing.T) {
	w := worldOf(t, rl.CodeConfig{})
	env := w.New()
	env.Reset(t.Context(), w.Task(rl.Train, 1))
	rng := rand.New(rand.NewPCG(3, 4))
	names := []string{"run_python", "write_file", "read_file", "", "run_shell"}
	bits := []string{"print(1)", "a/../b", "\x00", "import os", "{", "'", "é", "/task/", "\n", "os.remove('b')", "while", strings.Repeat("(", 200)}
	for range 300 {
		var a, b string
		for range rng.IntN(4) {
			a, b = a+bits[rng.IntN(len(bits))], b+bits[rng.IntN(len(bits))]
		}
		c := call(names[rng.IntN(len(names))], "code", a)
		if rng.IntN(2) == 0 {
			c = call(names[rng.IntN(len(names))], "path", a, "content", b)
		}
		if r := mustStep(t, env, c); r.Content == "" {
			t.Errorf("%s(%s) says nothing", c.Name, c.Arguments)
		}
	}
	if _, err := env.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{Name: "run_python", Arguments: json.RawMessage(`{"code":`)}}); err != nil {
		t.Error(err)
	}
}
