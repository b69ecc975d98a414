package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// A file of tasks is read strictly, and what is wrong with it is said with its line.
func TestTasksOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.jsonl")
	good := `{"goal": "a", "kind": "easy", "rubric": "be kind"}` + "\n\n" + `{"goal": "b", "split": "eval", "data": {"n": 1}}` + "\n"
	open := func(text, command string) (envs.World, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return open(rl.EnvConfig{Use: Kind, Agent: rl.AgentConfig{Command: command, Tasks: file, Goal: "argument"}})
	}
	large := `"` + strings.Repeat("x", largest) + `"`
	w, err := open(good, "agent")
	if err != nil {
		t.Fatal(err)
	}
	task := w.Task(rl.Train, 0)
	o, err := w.New().Reset(t.Context(), task)
	if err != nil || o.Messages[0].Content != "a" || task != (rl.Task{ID: "train-0", Env: Kind, Split: rl.Train, Kind: "easy"}) || w.Rubric(task) != "be kind" {
		t.Errorf("%+v %+v, %v", task, o, err)
	}
	if _, err := w.New().Reset(t.Context(), w.Task(rl.Train, 1)); rl.KindOf(err) != rl.Invalid {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{"goal": ""}`:            ":1: it has no goal",
		good + `{"gaol": "c"}`:    `:4: json: unknown field "gaol"`,
		good + `{"goal": "c"} {}`: ":4: more than one task in a line",
		good + `{"goal": "b", "split": "", "data": { "n":1.0 }}`: ":4: its goal and data are those of a task of the other split: what is evaluated must not be met in training",
		good + `{"goal": "-c"}`:                                  ":4: its goal begins with -, which programs take for an option: tell it by env.agent.goal: stdin or environment",
		good + `{"goal": "c\u0000"}`:                             ":4: its goal has a NUL, which no program can be told",
		good + `{"goal": "c", "data": ` + large + `}`:            ":4: it has 102438 bytes, and 102400 is what programs can be told by a variable: put more into files, and their names here",
		`{"goal": "a", "split": "all"}`:                          `:1: split is "all": train or eval`,
	} {
		if _, err := open(text, "agent"); err == nil || err.Error() != "env.agent.tasks: "+file+want {
			t.Errorf("%.99s: %v", text, err)
		}
	}
	if _, err := open(good+`{"goal": "b"}`, "agent"); err != nil {
		t.Errorf("another task with the same goal: %v", err)
	}
	if w, err := open(`{"goal": "a"}`, "agent"); err != nil || w.Count(rl.Train) != 1 {
		t.Errorf("none to evaluate with: %v", err)
	}
	if _, err := open(good, "agent 'x"); err == nil || err.Error() != "env.agent.command: a quote has no end" {
		t.Error(err)
	}
}

// A world is its tasks and the files that its commands name, its interpreter not among them.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("tasks.jsonl", `{"goal": "a"}`+"\n"+`{"goal": "b", "split": "eval"}`)
	for _, name := range []string{"agent.py", "check.sh", "python", "other"} {
		write(name, "#!/bin/sh\n")
	}
	write("python", "\x7fELF")
	of := func() string {
		w, err := open(rl.EnvConfig{Use: Kind, Agent: rl.AgentConfig{Command: "./python agent.py --fast", Directory: dir, Check: "./check.sh " + dir, Tasks: filepath.Join(dir, "tasks.jsonl")}})
		if err != nil {
			t.Fatal(err)
		}
		return w.Digest
	}
	was := of()
	for _, c := range []struct {
		name    string
		another bool
	}{{"other", false}, {"python", false}, {"agent.py", true}, {"check.sh", true}} {
		write(c.name, "#!/bin/sh\nexit 1\n")
		if c.name == "python" {
			write(c.name, "\x7fELF, another")
		}
		if is := of(); (is != was) != c.another {
			t.Errorf("%s changed: %s, then %s", c.name, was, is)
		} else {
			was = is
		}
	}
}
