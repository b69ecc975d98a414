package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Task is a line of the file of tasks.
type Task struct {
	Goal  string   `json:"goal"`            // the agent's prompt
	Split rl.Split `json:"split,omitempty"` // train, also when empty, or eval
	Kind  string   `json:"kind,omitempty"`  // a label, such as how hard it is: evaluations count successes by it
	// Rubric says what makes an attempt good, to a judge; the agent is not told. Empty: the goal says it all.
	Rubric string `json:"rubric,omitempty"`
	// Files are in {dir} when the episode begins, by path.
	Files map[string]string `json:"files,omitempty"`
	// Checks are what must hold at the end for the score to be 1; otherwise it is 0. None: a judge scores the task.
	Checks []Check `json:"checks,omitempty"`
	// Solution is a way to solve the task: calls, and at last an answer.
	Solution []Step `json:"solution,omitempty"`
	// Origin says who wrote the task, where that was no person.
	Origin *Origin `json:"origin,omitempty"`
}

// Step is a part of a solution: a call, or the answer.
type Step struct {
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Answer    string          `json:"answer,omitempty"`
}

// Origin is where a written task comes from: which model wrote it, in which call, and what a strong model made of it.
type Origin struct {
	Model    string   `json:"model"`             // that wrote it, as its server names it
	Prompt   int      `json:"prompt"`            // version of what it was asked
	Call     string   `json:"call"`              // SHA-256 of the question, by which its reply is kept beside the file
	Server   string   `json:"server"`            // the MCP server's own name and version
	Tools    []string `json:"tools"`             // that the writer expects to be needed
	Solver   string   `json:"solver,omitempty"`  // the strong model that solved it
	Calls    int      `json:"calls,omitempty"`   // tool calls that it took
	Verdict  string   `json:"verdict,omitempty"` // why its attempt counts as a success
	Attempts int      `json:"attempts,omitempty"`
}

// ReadTasks reads a file of tasks, one JSON object a line; empty lines do not count. Errors are Invalid and name the line.
func ReadTasks(name string, src []byte) (tasks []Task, err error) {
	goals := map[string]int{}
	err = envs.ReadTasks(src, func(line int, t Task) error {
		if err := t.Valid(); err != nil {
			return err
		}
		if first, again := goals[t.identity()]; again {
			return fmt.Errorf("the goal is that of line %d again, with the same files", first)
		}
		goals[t.identity()] = line
		tasks = append(tasks, t)
		return nil
	})
	if wrong, ok := errors.AsType[*envs.LineError](err); ok {
		return nil, rl.Errorf(rl.Invalid, fmt.Sprintf("%s:%d", name, wrong.Line), "%w", wrong.Err)
	}
	if len(tasks) == 0 {
		return nil, rl.Errorf(rl.Invalid, name, "there is no task in it")
	}
	return tasks, nil
}

// Valid says what is wrong with a task by itself.
func (t Task) Valid() error {
	switch {
	case strings.TrimSpace(t.Goal) == "":
		return errors.New("it has no goal")
	case t.Split != "" && t.Split != rl.Train && t.Split != rl.Eval:
		return fmt.Errorf("its split is %q, not train or eval", t.Split)
	}
	for path := range t.Files {
		if !inside(path) {
			return fmt.Errorf("the file %q does not lie in {dir}", path)
		}
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			if _, also := t.Files[dir]; also {
				return fmt.Errorf("the file %q lies in another, %q", path, dir)
			}
		}
	}
	for i, c := range t.Checks {
		if err := c.valid(); err != nil {
			return fmt.Errorf("check %d: %w", i+1, err)
		}
	}
	for i, s := range t.Solution {
		if (s.Tool == "") == (s.Answer == "") || s.Answer != "" && i < len(t.Solution)-1 {
			return fmt.Errorf("step %d of the solution is not a call, or the answer that ends it", i+1)
		}
	}
	return nil
}

// inside reports whether a path names a file in a directory, and is the only path that does.
func inside(path string) bool {
	return filepath.IsLocal(path) && path != "." && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}

// identity is what makes a task another one: its goal, spaces aside, and the files that it begins with.
func (t Task) identity() string {
	return strings.Join(strings.Fields(t.Goal), " ") + string(rl.CanonicalJSON(t.Files))
}

func (t Task) split() rl.Split { return cmp.Or(t.Split, rl.Train) }

// Fold is a text without what makes no difference between two goals: case, spaces, signs.
func Fold(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r < utf8.RuneSelf && !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	}), " ")
}
