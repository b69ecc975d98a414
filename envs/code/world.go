package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func init() { envs.RegisterKind(envs.Kind{Name: "code", Open: open}) }

// at is the boundary that errors name.
const at = "environment code"

// checkWait is how long a sandbox of processes may take to show that it works here.
const checkWait = time.Minute

// world is what the episodes of a configuration share.
type world struct {
	config   rl.CodeConfig
	bounds   bounds
	box      sandbox
	spec     envs.Spec
	problems map[rl.Split][]problem // of a file; nil: tasks are made here
}

func open(c rl.EnvConfig) (envs.World, error) {
	w := &world{config: c.Code, bounds: bounds{
		time: time.Duration(c.Code.Timeout), memory: int64(c.Code.MemoryMB) << 20, processes: c.Code.Processes,
		disk: room{files: c.Code.Files, bytes: int64(c.Code.DiskMB) << 20},
	}}
	out := envs.World{Name: "code", New: func() envs.Env { return &env{world: w} }, Task: w.task, Reference: w.reference, Facts: w.facts}
	if c.Code.Tasks != "" {
		file, err := os.ReadFile(c.Code.Tasks)
		if err != nil {
			return envs.World{}, rl.Errorf(rl.Invalid, "env.code.tasks", "%w", err)
		}
		if w.problems, err = parseProblems(file, w.bounds.disk); err != nil {
			return envs.World{}, err
		}
		digest := sha256.Sum256(file)
		out.Digest = hex.EncodeToString(digest[:])
		out.Count = func(s rl.Split) int { return len(w.problems[s]) }
	}
	var err error
	if w.box, err = sandboxOf(c.Code, w.bounds); err != nil {
		return envs.World{}, err
	}
	w.spec = specOf(w.box, w.bounds, c.Code.OutputBytes)
	return out, nil
}

// sandboxOf makes a configuration's sandbox, which works here: one that does not is an error that says why.
func sandboxOf(c rl.CodeConfig, b bounds) (sandbox, error) {
	var made *box
	switch c.Sandbox {
	case "bubblewrap":
		made = newBubblewrap(b, strings.FieldsFunc(c.See, func(r rune) bool { return r == ',' || r == ' ' }))
	case "container":
		made = newContainer(b, c.Runtime, c.Image)
	default:
		return newMicropython(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkWait)
	defer cancel()
	return made, made.check(ctx)
}

// problemOf is the problem of a task; known is false where there is no such task.
func (w *world) problemOf(split rl.Split, index int) (p problem, known bool) {
	switch {
	case split != rl.Train && split != rl.Eval || index < 0:
		return p, false
	case w.problems == nil:
		return made(split, index), true
	case index >= len(w.problems[split]):
		return p, false
	}
	return w.problems[split][index], true
}

func (w *world) task(split rl.Split, index int) rl.Task {
	p, _ := w.problemOf(split, index)
	return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: "code", Split: split, Index: index, Kind: p.Kind}
}

func (w *world) facts(t rl.Task) []string {
	p, _ := w.problemOf(t.Split, t.Index)
	return []string{p.fact}
}

// reference writes the task's own solution and submits it.
func (w *world) reference(t rl.Task) func([]rl.Message) rl.Message {
	p, _ := w.problemOf(t.Split, t.Index)
	return func(messages []rl.Message) rl.Message {
		call := rl.ToolCall{ID: fmt.Sprintf("call_%d", len(messages)), Name: "submit", Arguments: json.RawMessage("{}")}
		if last := messages[len(messages)-1]; last.Role == rl.User {
			call.Name = "write_file"
			call.Arguments = rl.CanonicalJSON(map[string]string{"path": strings.ReplaceAll(p.Module, ".", "/") + ".py", "content": p.Reference})
		}
		return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{call}}
	}
}
