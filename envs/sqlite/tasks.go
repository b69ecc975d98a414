package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// task is one line of tasks.jsonl. A task's index is its place among those of its split.
type task struct {
	Split rl.Split `json:"split"`          // train or eval, or warm_up: shown to the embedded policy before a run
	Kind  string   `json:"kind,omitempty"` // for success by kind
	Goal  string   `json:"goal"`           // the first user message
	// Seed has rows for tables, in the order in which they are inserted: {"orders": [{"number": "1042", "status": "placed"}]}.
	Seed   seed    `json:"seed,omitempty"`
	Checks []check `json:"checks"` // all must hold
	// Facts are what could be memorised of the task; no fact of an eval task is one of another split's. None: the goal.
	Facts []string `json:"facts,omitempty"`
	// Reference is calls that earn full reward.
	Reference []call `json:"reference,omitempty"`
	Rubric    string `json:"rubric,omitempty"` // what a judge is told makes an attempt good
	// Vary, of a warm_up task, are names in it that are others each time that it is shown: see demonstrate.go.
	Vary []string `json:"vary,omitempty"`

	line  int
	index int
}

// check is a SELECT of one value, which must be true (a number that is not 0) over the final state.
type check struct {
	Why string `json:"why"` // what is wrong when it does not hold, in a few words
	SQL string `json:"sql"`
}

// call is one call of a reference solution; with tool final_text, the final answer as {"text": ...}.
type call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// seed is rows by table, in the file's order.
type seed []seedRow

type seedRow struct {
	table   string
	columns []string // sorted
	values  []any
}

// UnmarshalJSON reads {"TABLE": [{"COLUMN": value, ...}, ...], ...}.
func (s *seed) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("seed: expected rows by table")
	}
	for d.More() {
		table, err := d.Token()
		if err != nil {
			return err
		}
		var rows []map[string]json.RawMessage
		if err := d.Decode(&rows); err != nil {
			return fmt.Errorf("seed: %s: expected a list of rows, each an object: %w", table, err)
		}
		for _, row := range rows {
			r := seedRow{table: table.(string), columns: slices.Sorted(maps.Keys(row))}
			for _, column := range r.columns {
				v, err := value(row[column])
				if err != nil {
					return fmt.Errorf("seed: %s.%s: %w", table, column, err)
				}
				r.values = append(r.values, v)
			}
			*s = append(*s, r)
		}
	}
	return nil
}

// insert is the statement that adds the row.
func (r seedRow) insert() string {
	columns := make([]string, len(r.columns))
	for i, c := range r.columns {
		columns[i] = name(c)
	}
	if len(columns) == 0 {
		return "INSERT INTO " + name(r.table) + " DEFAULT VALUES"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", name(r.table), strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1))
}

func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// readTasks reads tasks.jsonl. The error names the line.
func readTasks(at string, source []byte) (map[rl.Split][]*task, error) {
	tasks := map[rl.Split][]*task{}
	err := envs.ReadTasks(source, func(line int, t *task) error {
		if err := t.whole(); err != nil {
			return err
		}
		t.line, t.index = line, len(tasks[t.Split])
		tasks[t.Split] = append(tasks[t.Split], t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s:%w", at, err)
	}
	return tasks, apart(at, tasks)
}

// whole says what is wrong with a task by itself, and fills in what may be left out.
func (t *task) whole() error {
	switch {
	case t == nil:
		return errors.New("it is null")
	case t.Split != rl.Train && t.Split != rl.Eval && t.Split != rl.WarmUp:
		return fmt.Errorf("split is %q: expected train, eval or warm_up", t.Split)
	case t.Goal == "":
		return errors.New("it has no goal")
	case len(t.Checks) == 0:
		return errors.New("it has no checks")
	case t.Split == rl.WarmUp && len(t.Reference) == 0:
		return errors.New("a warm_up task is shown by its reference, and it has none")
	case t.Split != rl.WarmUp && len(t.Vary) > 0:
		return errors.New("only a warm_up task can vary: any other is the same each time")
	}
	for _, v := range t.Vary {
		if !varies(v) || !strings.Contains(t.Goal, v) {
			return fmt.Errorf("vary: %q: expected letters and digits that the goal has", v)
		}
	}
	if len(t.Facts) == 0 {
		t.Facts = []string{t.Goal}
	}
	return nil
}

// apart checks that no fact of an eval task is one of another split's.
func apart(at string, tasks map[rl.Split][]*task) error {
	held := map[string]int{}
	for _, t := range tasks[rl.Eval] {
		for _, f := range t.Facts {
			held[f] = t.line
		}
	}
	for _, split := range []rl.Split{rl.Train, rl.WarmUp} {
		for _, t := range tasks[split] {
			for _, f := range t.Facts {
				if line, ok := held[f]; ok {
					return fmt.Errorf("%s:%d: %q is a fact of the eval task of line %d, too: what is evaluated must not be met in training", at, t.line, f, line)
				}
			}
		}
	}
	return nil
}

// is makes the task's name. It must be the same for everybody: see envs.World.Task.
func (t *task) is(world string) rl.Task {
	return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", t.Split, t.index)), Env: world, Split: t.Split, Index: t.index, Kind: t.Kind}
}

// play is the n-th action of the reference solution, from 0; nothing once it is over.
func (t *task) play(n int) rl.Message {
	if n >= len(t.Reference) {
		return rl.Message{Role: rl.Assistant}
	}
	c := t.Reference[n]
	if c.Tool == envs.FinalText {
		var a struct{ Text string }
		_ = json.Unmarshal(c.Arguments, &a) // checked when the world was opened
		return rl.Message{Role: rl.Assistant, Content: a.Text}
	}
	return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{ID: fmt.Sprintf("call_%d", n), Name: c.Tool, Arguments: c.Arguments}}}
}
