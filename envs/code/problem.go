package code

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// problem is a task: a goal, the files that are there at first, and tests of a function in a module that the agent
// is to write.
type problem struct {
	Split     rl.Split          `json:"split"` // train, also when empty, or eval
	Kind      string            `json:"kind"`
	Goal      string            `json:"goal"`
	Files     map[string]string `json:"files"`
	Module    string            `json:"module"` // solution, when empty
	Function  string            `json:"function"`
	Reference string            `json:"reference"` // content of the module's file that passes; may be empty
	Tests     []test            `json:"tests"`

	fact string // what could be memorised of it
}

// test is one call of the function.
type test struct {
	Args json.RawMessage `json:"args"` // a list
	Want json.RawMessage `json:"want"`
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	module     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63})*$`)
)

// parseProblems reads a file of tasks. Errors are Invalid, naming the line.
func parseProblems(file []byte, limit room) (map[rl.Split][]problem, error) {
	out, seen := map[rl.Split][]problem{}, map[string]rl.Split{}
	err := envs.ReadTasks(file, func(_ int, p problem) error {
		p, err := p.whole(limit)
		if err != nil {
			return err
		}
		if split, known := seen[p.fact]; known && split != p.Split {
			return errors.New("its goal is that of a task of the other split: what is evaluated must not be met in training")
		}
		seen[p.fact] = p.Split
		out[p.Split] = append(out[p.Split], p)
		return nil
	})
	if err != nil {
		return nil, rl.Errorf(rl.Invalid, "env.code.tasks", "line %w", err)
	}
	return out, nil
}

// whole is a problem with what may be left out, or what is wrong with it.
func (p problem) whole(limit room) (problem, error) {
	p.Split, p.Module = cmp.Or(p.Split, rl.Train), cmp.Or(p.Module, "solution")
	switch {
	case p.Split != rl.Train && p.Split != rl.Eval:
		return p, fmt.Errorf("the split %.32q is neither train nor eval", p.Split)
	case p.Goal == "":
		return p, fmt.Errorf("there is no goal")
	case !module.MatchString(p.Module) || !identifier.MatchString(p.Function):
		return p, fmt.Errorf("%.80q in %.80q is no function in a module", p.Function, p.Module)
	case len(p.Tests) == 0:
		return p, fmt.Errorf("there are no tests")
	}
	for i, t := range p.Tests {
		var args []json.RawMessage
		if json.Unmarshal(t.Args, &args) != nil || args == nil || len(t.Want) == 0 {
			return p, fmt.Errorf("test %d needs args, a list, and want", i)
		}
	}
	files := tree{}
	for name, content := range p.Files {
		clean, wrong := local(name)
		if wrong == "" {
			wrong = files.put(clean, []byte(content), limit)
		}
		if wrong != "" {
			return p, fmt.Errorf("%s", wrong)
		}
	}
	p.fact = p.Goal
	return p, nil
}

// tree is the working directory at first.
func (p problem) tree() tree {
	t := tree{}
	for name, content := range p.Files {
		clean, _ := local(name) // whole has seen it
		t[clean] = []byte(content)
	}
	return t
}
