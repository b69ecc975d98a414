package gateway

import (
	"os"
	"path/filepath"
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
		return open(rl.EnvConfig{Use: Kind, Agent: rl.AgentConfig{Command: command, Tasks: file}})
	}
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
		`{"goal": ""}`:                  ":1: it has no goal",
		good + `{"gaol": "c"}`:          `:4: json: unknown field "gaol"`,
		good + `{"goal": "c"} {}`:       ":4: more than one task in a line",
		good + `{"goal": "b"}`:          ":4: its goal is that of a task of the other split: what is evaluated must not be met in training",
		`{"goal": "a", "split": "all"}`: `:1: split is "all": train or eval`,
		`{"goal": "a"}`:                 `: there is no task with split "eval"`,
	} {
		if _, err := open(text, "agent"); err == nil || err.Error() != "env.agent.tasks: "+file+want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := open(good, "agent 'x"); err == nil || err.Error() != "env.agent.command: a quote has no end" {
		t.Error(err)
	}
}
