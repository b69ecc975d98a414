package process

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// the is a configuration of a command, with processes x episodes places.
func the(command string, processes, episodes int) rl.EnvConfig {
	return rl.EnvConfig{Use: "process", Process: rl.ProcessConfig{
		Command: command, Processes: processes, Episodes: episodes, StartTimeout: rl.Duration(time.Minute),
	}}
}

// opened is the world of a configuration, whose programs end with the test.
func opened(t testing.TB, c rl.EnvConfig) (envs.World, *world) {
	t.Helper()
	w, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	inside := w.New().(*env).world
	t.Cleanup(func() { inside.pool.end(t) })
	return w, inside
}

// end ends the programs of a pool, and waits until nothing is left of them.
func (p *pool) end(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.program != nil {
			s.program.stop()
		}
		if s.still != nil {
			s.still.Stop()
		}
	}
}

// empty waits until all episodes are closed.
func (p *pool) empty() {
	for range cap(p.places) {
		p.places <- struct{}{}
	}
	for range cap(p.places) {
		<-p.places
	}
}

const python = "exec python3 ../../examples/process/number.py"

// typescript is the command that runs the example in TypeScript, which Node 20 only does without its types.
var typescript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "longhaul-number")
	if err != nil {
		return "", err
	}
	source, err := filepath.Abs("../../examples/process/number.ts")
	if err != nil {
		return "", err
	}
	strip := exec.Command("node", "-e", `const fs = require("fs"); fs.writeFileSync(process.argv[2],
		require("amaro").transformSync(fs.readFileSync(process.argv[1], "utf8"), { mode: "strip-only" }).code)`, source, dir+"/number.mjs")
	strip.Dir = filepath.Join(os.Getenv("LONGHAUL_TEST_WORLDS"), "process")
	strip.Stderr = os.Stderr
	return "exec node " + dir + "/number.mjs", strip.Run()
})

// languages are the commands of the same world.
func languages(t *testing.T) map[string]string {
	all := map[string]string{"python": python}
	if os.Getenv("LONGHAUL_TEST_WORLDS") == "" {
		t.Log("LONGHAUL_TEST_WORLDS is not set: without TypeScript (make test has it)")
		return all
	}
	var err error
	if all["typescript"], err = typescript(); err != nil {
		t.Fatal(err)
	}
	return all
}

// begin resets an environment.
func begin(t testing.TB, e envs.Env, task rl.Task) rl.Observation {
	t.Helper()
	o, err := e.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func step(ctx context.Context, e envs.Env, name, arguments string) (envs.Result, error) {
	return e.Step(ctx, envs.Call{ToolCall: rl.ToolCall{Name: name, Arguments: []byte(arguments)}})
}

func mustStep(t testing.TB, e envs.Env, name, arguments string) envs.Result {
	t.Helper()
	r, err := step(t.Context(), e, name, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The examples are the same world.
func TestExamples(t *testing.T) {
	for name, command := range languages(t) {
		t.Run(name, func(t *testing.T) {
			w, _ := opened(t, the(command, 1, 2))
			if w.Digest != "20a651da1e7941121b0de7cd9daade8428e99d3e9eab74c6958140e00ff1c464" || w.Count(rl.Train) != 10000 || w.Count(rl.Eval) != 1000 || w.Count(rl.WarmUp) != 0 {
				t.Errorf("digest %s, %d tasks", w.Digest, w.Count(rl.Train))
			}
			e, task := w.New(), w.Task(rl.Train, 3)
			defer e.Close()
			o := begin(t, e, task)
			if o.Messages[0].Content != "Which number from 1 to 1000 is it?" || o.Messages[0].Role != rl.User {
				t.Error(o)
			}
			for _, c := range []struct{ name, arguments, want string }{
				{"guess", `{"number":100}`, "higher"},
				{"guess", `{"number":900}`, "lower"},
				{"guess", `{"number":"900"}`, `bad call: "number" of guess must be integer, not string`},
				{"guess", `{"number":`, "bad call: the arguments of guess are not JSON"},
				{"guess", ``, "bad call: the arguments of guess must be an object, not nothing"},
				{"gess", `{}`, `bad call: there is no tool "gess"; the tools are guess`},
				{envs.FinalText, `"374"`, `bad call: there is no tool "final_text"; the tools are guess`},
			} {
				if r := mustStep(t, e, c.name, c.arguments); r.Content != c.want || r.Done {
					t.Errorf("%s(%s) gave %+v", c.name, c.arguments, r)
				}
			}
			snapshot, err := e.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			action := w.Reference(task)(nil)
			if got := string(action.ToolCalls[0].Arguments); got != `{"number":333}` {
				t.Error(got)
			}
			if r := mustStep(t, e, "guess", string(action.ToolCalls[0].Arguments)); r.Content != "right" || !r.Done {
				t.Errorf("%+v", r)
			}
			other := w.New()
			defer other.Close()
			if err := other.Restore(t.Context(), snapshot); err != nil {
				t.Fatal(err)
			}
			for range 7 {
				mustStep(t, other, "guess", `{"number":1000}`)
			}
			if r := mustStep(t, other, "guess", `{"number":1000}`); r.Content != "lower" || !r.Done {
				t.Errorf("the tenth guess: %+v", r)
			}
			for e, want := range map[envs.Env]float64{e: 1, other: 0} {
				if s, err := e.Score(t.Context()); err != nil || s.Value != want || s.Metrics["guesses"] != cmp.Or(3*want, 10) {
					t.Errorf("%+v, %v", s, err)
				}
			}
			for _, rot := range []string{"", "7", "{}", `{"task":{"split":"train","index":3,"seed":1},"snapshot":{}}`, string(snapshot) + "x", strings.Replace(string(snapshot), `"index":3`, `"index":4`, 1)} {
				if err := other.Restore(t.Context(), []byte(rot)); rl.KindOf(err) != rl.Corrupt {
					t.Errorf("restoring %q: %v", rot, err)
				}
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	w, _ := opened(t, the(python, 1, 1))
	e := w.New()
	if _, err := step(t.Context(), e, "guess", `{"number":1}`); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Step before Reset: %v", err)
	}
	if _, err := e.Score(t.Context()); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Score before Reset: %v", err)
	}
	foreign := w.Task(rl.Train, 0)
	foreign.Env = "orders"
	for _, task := range []rl.Task{{}, foreign, w.Task(rl.Train, 10000), w.Task(rl.Train, -1), w.Task(rl.WarmUp, 0), w.Task("exam", 0)} {
		if _, err := e.Reset(t.Context(), task); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Reset of %+v: %v", task, err)
		}
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
