package envs

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A kind's world is opened once for a configuration, whatever its tasks, and refuses tasks that it does not have.
func TestKindsOpenOnce(t *testing.T) {
	times := 0
	RegisterKind(Kind{Name: "counted", Open: func(c rl.EnvConfig) (World, error) {
		times++
		if c.MaxTurns == 0 {
			return World{}, rl.Errorf(rl.Invalid, "env.max_turns", "none")
		}
		return World{Name: "counted", Count: func(split rl.Split) int {
			if c.MaxTurns == 5 && split == rl.Eval {
				return 0
			}
			return 10
		}}, nil
	}})
	t.Cleanup(func() { delete(kinds, "counted") })
	ranges := func(train, eval int) rl.TasksConfig {
		return rl.TasksConfig{Train: rl.TaskRange{Last: train}, Eval: rl.TaskRange{Last: eval}}
	}
	for _, c := range []struct {
		config rl.EnvConfig
		err    string
		times  int
	}{
		{rl.EnvConfig{Use: "counted", MaxTurns: 3, Tasks: ranges(9, 9)}, "", 1},
		{rl.EnvConfig{Use: "counted", MaxTurns: 3, Tasks: ranges(4, 9)}, "", 1},
		{rl.EnvConfig{Use: "counted", MaxTurns: 3, Tasks: ranges(10, 9)}, "env.tasks.train: 0-10, but counted has 10 such tasks: 0-9", 1},
		{rl.EnvConfig{Use: "counted", MaxTurns: 3, Tasks: ranges(9, 12)}, "env.tasks.eval: 0-12, but counted has 10 such tasks: 0-9", 1},
		{rl.EnvConfig{Use: "counted", MaxTurns: 4, Tasks: ranges(9, 9)}, "", 2},
		{rl.EnvConfig{Use: "counted", MaxTurns: 5, Tasks: ranges(9, 9)}, "", 3},
		{rl.EnvConfig{Use: "counted"}, "env.max_turns: none", 4},
		{rl.EnvConfig{Use: "counted"}, "env.max_turns: none", 5},
		{rl.EnvConfig{Use: "orders", Tasks: ranges(1e9, 1e9)}, "", 5},
		{rl.EnvConfig{Use: "nowhere"}, `env.use: "nowhere" is not one of ` + strings.Join(Names(), ", "), 5},
	} {
		_, err := Open(c.config)
		if said := words(err); said != c.err || times != c.times {
			t.Errorf("%+v: %q, opened %d times", c.config, said, times)
		}
	}
}

// A world without tasks to evaluate with is none to evaluate on; one without a number of them has all there are.
func TestEvaluates(t *testing.T) {
	none := World{Name: "a", Count: func(rl.Split) int { return 0 }}
	if err := none.Evaluates(); rl.KindOf(err) != rl.Invalid || !strings.HasPrefix(err.Error(), "env.tasks.eval: a has no such tasks") {
		t.Error(err)
	}
	if err := (World{}).Evaluates(); err != nil {
		t.Error(err)
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestGetListsTheNames(t *testing.T) {
	if _, err := Get("order"); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), `"order" is not one of `) || !strings.Contains(err.Error(), "orders") {
		t.Error(err)
	}
}
