package openenv

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// listed is a line of a file of tasks.
type listed struct {
	Split rl.Split                   `json:"split"` // train, also when empty, or eval
	Kind  string                     `json:"kind"`
	Goal  string                     `json:"goal"`  // said to the agent before the first observation
	Reset map[string]json.RawMessage `json:"reset"` // what the server's reset is told; its seed, where there is none here, follows from the task
}

// taskList is a file of tasks. Nil: there is none, and a task is its seed.
type taskList struct {
	lines map[rl.Split][]listed
}

// parseTasks reads a file of tasks. Errors are Invalid, naming the line.
func parseTasks(file []byte) (*taskList, error) {
	out := &taskList{lines: map[rl.Split][]listed{}}
	err := envs.ReadTasks(file, func(_ int, t listed) error {
		t.Split = cmp.Or(t.Split, rl.Train)
		if t.Split != rl.Train && t.Split != rl.Eval {
			return fmt.Errorf("the split %.32q is neither train nor eval", t.Split)
		}
		out.lines[t.Split] = append(out.lines[t.Split], t)
		return nil
	})
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "env.openenv.tasks", "line %w", err)
	}
	return out, nil
}

// count is World.Count.
func (l *taskList) count() func(rl.Split) int {
	if l == nil {
		return nil
	}
	return func(s rl.Split) int { return len(l.lines[s]) }
}

// line is what the file says of a task; nothing without a file.
func (l *taskList) line(split rl.Split, index int) (listed, bool) {
	known := (split == rl.Train || split == rl.Eval) && index >= 0
	if l == nil || !known || index >= len(l.lines[split]) {
		return listed{}, known && l == nil
	}
	return l.lines[split][index], true
}

// task is World.Task.
func (l *taskList) task(split rl.Split, index int) rl.Task {
	t, _ := l.line(split, index)
	return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: "openenv", Split: split, Index: index, Kind: t.Kind}
}

// reset is what a server is told to begin a task. Seeds fit in 31 bits: NumPy takes no more than 32.
func (l *taskList) reset(t rl.Task) json.RawMessage {
	line, _ := l.line(t.Split, t.Index)
	told := map[string]json.RawMessage{"seed": rl.CanonicalJSON(rl.Seed(0, "openenv", t.Split, t.Index) & (1<<31 - 1))}
	for name, value := range line.Reset {
		told[name] = value
	}
	return rl.CanonicalJSON(told)
}
