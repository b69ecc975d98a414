package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// Task is a line of the file of tasks.
type Task struct {
	Goal   string   `json:"goal"`             // what the agent is told
	Split  rl.Split `json:"split,omitempty"`  // train, also when empty, or eval
	Kind   string   `json:"kind,omitempty"`   // a label: evaluations count successes by it
	Rubric string   `json:"rubric,omitempty"` // what makes an attempt good, to a judge
	// Data is for the agent's program, as LONGHAUL_TASK; Answer is for env.agent.check alone, which is told all of the line.
	Data   json.RawMessage `json:"data,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// tasks are those of a file, by split, each at its index.
type tasks map[rl.Split][]Task

// asks is what the agent is told of a task, in one form: of two that ask the same, one cannot tell what training with the other
// taught.
func (t Task) asks() string { return t.Goal + canonical(string(t.Data)) }

// largest is what a task may have, in bytes: programs are told of it by a variable, which Linux takes 128 KiB of.
const largest = 100 << 10

// readTasks reads a file of tasks, whose goals agents are told in some way (env.agent.goal). The error begins with the line's number.
func readTasks(source []byte, way string) (tasks, error) {
	all, held := tasks{}, map[string]rl.Split{}
	err := envs.ReadTasks(source, func(_ int, t Task) error {
		t.Split = cmp.Or(t.Split, rl.Train)
		if err := t.whole(way); err != nil {
			return err
		}
		if was, known := held[t.asks()]; known && was != t.Split {
			return errors.New("its goal and data are those of a task of the other split: what is evaluated must not be met in training")
		}
		held[t.asks()] = t.Split
		all[t.Split] = append(all[t.Split], t)
		return nil
	})
	return all, err
}

// whole says what of a task cannot be played.
func (t Task) whole(way string) error {
	switch n := len(rl.CanonicalJSON(t)); {
	case t.Goal == "":
		return errors.New("it has no goal")
	case t.Split != rl.Train && t.Split != rl.Eval:
		return fmt.Errorf("split is %q: train or eval", t.Split)
	case strings.ContainsRune(t.Goal, 0):
		return errors.New("its goal has a NUL, which no program can be told")
	case way == "argument" && strings.HasPrefix(t.Goal, "-"):
		return errors.New("its goal begins with -, which programs take for an option: tell it by env.agent.goal: stdin or environment")
	case n > largest:
		return fmt.Errorf("it has %d bytes, and %d is what programs can be told by a variable: put more into files, and their names here", n, largest)
	}
	return nil
}

// task is the one of a split with an index, which may be past the end: Count says so.
func (all tasks) task(split rl.Split, index int) rl.Task {
	t := rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", split, index)), Env: Kind, Split: split, Index: index}
	t.Kind = all.at(t).Kind
	return t
}

func (all tasks) at(t rl.Task) Task {
	if of := all[t.Split]; t.Index >= 0 && t.Index < len(of) {
		return of[t.Index]
	}
	return Task{}
}
