package propose

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// written is a task as a model writes it.
type written struct {
	Goal   string   `json:"goal"`
	Rubric string   `json:"rubric"`
	Tools  []string `json:"tools"` // that it takes
	Files  []file   `json:"files"` // that are there at the start
	// Answer is a text that every right final answer contains; empty: there is no such text.
	Answer string `json:"answer_contains"`
}

type file struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// form is the JSON schema of a reply, with or without files, about these tools. Servers that hold a model to it have it write the members in this order:
// first what the rest follows from. Whether they hold to it or not, read checks all of it.
func form(files bool, tools []string) json.RawMessage {
	more, required := "", ""
	if files {
		more = `"files":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}},`
		required = `"files",`
	}
	return json.RawMessage(`{"type":"object","properties":{"tasks":{"type":"array","items":{"type":"object","properties":{` + more +
		`"goal":{"type":"string"},"tools":{"type":"array","items":{"type":"string","enum":` + string(rl.CanonicalJSON(tools)) + `}},"rubric":{"type":"string"},"answer_contains":{"type":"string"}},` +
		`"required":[` + required + `"goal","tools","rubric","answer_contains"],"additionalProperties":false}}},"required":["tasks"],"additionalProperties":false}`)
}

// Bounds of what a model writes, in bytes and numbers. What is longer than a prompt should be has lost its way.
const (
	longestGoal   = 4000
	shortestGoal  = 6 // letters: a model that copies the prompt's example gives "..."
	longestRubric = 4000
	longestFile   = 20_000
	mostFiles     = 20
	mostTasks     = 50
)

// read takes the tasks from a reply that are as they should be. The error says in words for the model what is wrong with the others, or
// with the reply. tools are those that there are; files says whether a task can begin with files; suits whether the servers can have a
// task.
func read(reply reward.Reply, tools []string, files bool, suits func(mcp.Task) error) ([]written, error) {
	if reply.Finish == "length" {
		return nil, errors.New("the reply was cut off: give fewer or shorter tasks")
	}
	object, err := reward.Find(reply.Text, "tasks")
	if err != nil {
		return nil, err
	}
	members, err := reward.Members(object)
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(members["tasks"], &entries); err != nil || len(entries) == 0 || len(entries) > mostTasks {
		return nil, fmt.Errorf(`"tasks" is not a list of 1 to %d tasks`, mostTasks)
	}
	var out []written
	var wrong []string
	for i, entry := range entries {
		w, err := readTask(entry, tools, files)
		if err == nil {
			err = suits(w.task())
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("task %d: %v", i+1, err))
			continue
		}
		out = append(out, w)
	}
	if len(wrong) > 0 {
		return out, errors.New(strings.Join(wrong, "; "))
	}
	return out, nil
}

func readTask(raw json.RawMessage, tools []string, files bool) (w written, err error) {
	members, err := reward.Members(raw)
	if err != nil {
		return w, err
	}
	for name, into := range map[string]any{"goal": &w.Goal, "rubric": &w.Rubric, "tools": &w.Tools, "files": &w.Files, "answer_contains": &w.Answer} {
		value, given := members[name]
		if !given && (name == "files" || name == "answer_contains") {
			continue
		}
		if !given || string(value) == "null" || json.Unmarshal(value, into) != nil {
			return w, fmt.Errorf("%q is missing, or is not what it should be", name)
		}
	}
	slices.Sort(w.Tools)
	w.Tools = slices.Compact(w.Tools) // weak writers list one many times
	return w, w.wrong(tools, files)
}

// wrong says what is wrong with a task that has the right form.
func (w written) wrong(tools []string, files bool) error {
	switch {
	case strings.TrimSpace(w.Goal) == "" || len(w.Goal) > longestGoal:
		return fmt.Errorf("its goal is empty, or has more than %d bytes", longestGoal)
	case letters(w.Goal) < shortestGoal:
		return fmt.Errorf("its goal %q says nothing", w.Goal)
	case len(w.Rubric) > longestRubric || len(w.Answer) > longestGoal:
		return fmt.Errorf("its rubric or its answer_contains has more than %d bytes", longestRubric)
	case len(w.Tools) == 0:
		return errors.New("it names no tool that it takes")
	case len(w.Files) > 0 && !files:
		return errors.New("it has files, but the tools have no directory to begin with")
	case len(w.Files) > mostFiles:
		return fmt.Errorf("it has more than %d files", mostFiles)
	}
	for _, tool := range w.Tools {
		if !slices.Contains(tools, tool) {
			return fmt.Errorf("there is no tool %.64q", tool)
		}
	}
	for _, f := range w.Files {
		if !filepath.IsLocal(f.Path) || len(f.Content) > longestFile {
			return fmt.Errorf("the file %.64q does not lie in the directory, or has more than %d bytes", f.Path, longestFile)
		}
	}
	return w.task().Valid()
}

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// task is what is written as a task, without its origin.
func (w written) task() mcp.Task {
	t := mcp.Task{Goal: strings.TrimSpace(w.Goal), Rubric: strings.TrimSpace(w.Rubric)}
	for _, f := range w.Files {
		if t.Files == nil {
			t.Files = map[string]string{}
		}
		t.Files[filepath.Clean(f.Path)] = f.Content
	}
	return t
}
