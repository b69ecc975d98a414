package envs

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

const (
	conformanceTasks = 500 // of each split
	conformanceTurns = 24  // actions an episode may take here
)

// everyWorld runs a check for each registered world.
func everyWorld(t *testing.T, check func(t *testing.T, w World)) {
	for _, name := range Worlds() {
		w, err := Get(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { check(t, w) })
	}
}

// episode plays an Env as the rollout loop does, only simpler.
type episode struct {
	t        testing.TB
	env      Env
	messages []rl.Message
	done     bool
}

func begin(t testing.TB, w World, task rl.Task) *episode {
	t.Helper()
	e := &episode{t: t, env: w.New()}
	o, err := e.env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	e.messages = o.Messages
	return e
}

func (e *episode) act(action rl.Message) {
	e.t.Helper()
	e.messages = append(e.messages, action)
	for _, call := range action.ToolCalls {
		if e.done {
			return
		}
		r, err := e.env.Step(e.t.Context(), Call{ToolCall: call})
		if err != nil {
			e.t.Fatal(err)
		}
		e.done = r.Done
		e.messages = append(e.messages, rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: call.ID})
	}
}

func (e *episode) score() float64 {
	e.t.Helper()
	s, err := e.env.Score(e.t.Context())
	if err != nil || !s.Scored() {
		e.t.Fatalf("%+v, %v", s, err)
	}
	return s.Value
}

func TestReferenceEarnsFullReward(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		for _, split := range w.Splits() {
			for i := range conformanceTasks {
				task := w.Task(split, i)
				e, play := begin(t, w, task), w.Reference(task)
				for turn := 0; !e.done && turn < conformanceTurns; turn++ {
					e.act(play(e.messages))
				}
				if got := e.score(); got != 1 {
					t.Fatalf("%s earns %g: %+v", task.ID, got, e.messages)
				}
			}
		}
	})
}

// randomAction calls some tool with words that were in the conversation, which is kinder than noise.
func randomAction(rng *rand.Rand, spec Spec, messages []rl.Message) rl.Message {
	var words []string
	for _, m := range messages {
		words = append(words, strings.FieldsFunc(m.Content, func(r rune) bool { return strings.ContainsRune(" ,?", r) })...)
	}
	tool := spec.Tools[rng.IntN(len(spec.Tools))]
	var s schema
	json.Unmarshal(tool.Parameters, &s)
	arguments := map[string]string{}
	for name := range s.Properties {
		from := rng.IntN(len(words))
		arguments[name] = strings.Join(words[from:min(len(words), from+1+rng.IntN(2))], " ")
	}
	return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: tool.Name, Arguments: rl.CanonicalJSON(arguments)}}}
}

func TestRandomAgentEarnsNearlyNothing(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		rng, earned := rand.New(rand.NewPCG(1, 2)), 0.0
		for i := range conformanceTasks {
			e := begin(t, w, w.Task(rl.Train, i))
			for turn := 0; !e.done && turn < conformanceTurns; turn++ {
				e.act(randomAction(rng, e.env.Spec(), e.messages))
			}
			earned += e.score()
		}
		if share := earned / conformanceTasks; share > .05 {
			t.Errorf("a random agent earns %.3f", share)
		}
	})
}

func TestResetBeginsTheSameEpisode(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		rng, used := rand.New(rand.NewPCG(3, 4)), w.New()
		for i := range 50 {
			first := begin(t, w, w.Task(rl.Train, i))
			for turn := 0; !first.done && turn < conformanceTurns; turn++ {
				first.act(randomAction(rng, first.env.Spec(), first.messages))
			}
			o, err := used.Reset(t.Context(), w.Task(rl.Train, i)) // after the episodes before
			if err != nil {
				t.Fatal(err)
			}
			second := &episode{t: t, env: used, messages: o.Messages}
			for _, m := range first.messages {
				if m.Role == rl.Assistant {
					second.act(m)
				}
			}
			same(t, first, second)
		}
	})
}

func same(t *testing.T, a, b *episode) {
	t.Helper()
	if x, y := rl.CanonicalJSON(a.messages), rl.CanonicalJSON(b.messages); string(x) != string(y) {
		t.Fatalf("%s\nis not\n%s", y, x)
	}
	if a.done != b.done || a.score() != b.score() {
		t.Fatalf("ended %v with %g, not %v with %g", b.done, b.score(), a.done, a.score())
	}
}

func TestSnapshotGoesOnIdentically(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		if _, err := begin(t, w, w.Task(rl.Train, 0)).env.Snapshot(t.Context()); errors.Is(err, ErrNoSnapshot) {
			return
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for i := range 50 {
			task := w.Task(rl.Train, i)
			e, play := begin(t, w, task), w.Reference(task)
			for range rng.IntN(6) {
				if !e.done {
					e.act(play(e.messages))
				}
			}
			b, err := e.env.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			restored := &episode{t: t, env: w.New(), messages: slices.Clone(e.messages), done: e.done}
			if err := restored.env.Restore(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			for turn := 0; turn < conformanceTurns; turn++ {
				for _, x := range []*episode{e, restored} {
					if !x.done {
						x.act(play(x.messages))
					}
				}
			}
			same(t, e, restored)
		}
		for _, b := range []string{"", "null garbage", "[]", `{"split":"exam"}`, `{"index":-1}`} {
			if err := w.New().Restore(t.Context(), []byte(b)); rl.KindOf(err) != rl.Corrupt {
				t.Errorf("restoring %q: %v", b, err)
			}
		}
	})
}

// What a model does wrong is an observation.
func TestBadCallsAreObservations(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		e := begin(t, w, w.Task(rl.Train, 0))
		names := []string{"", "no_such_tool", FinalText}
		for _, tool := range e.env.Spec().Tools {
			names = append(names, tool.Name)
		}
		for _, name := range names {
			for _, arguments := range []string{"", "{", "null", "7", `"text"`, "[]", "{}", `{"no":"such"}`, `{"order":48}`, `{"box":["C7"]}`, `{"place":null}`} {
				r, err := e.env.Step(t.Context(), Call{ToolCall: rl.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}})
				if err != nil {
					t.Fatalf("%s(%s): %v", name, arguments, err)
				}
				if r.Content == "" && !r.Done {
					t.Errorf("%s(%s) says nothing", name, arguments)
				}
			}
		}
	})
}

func TestMisuseIsAnError(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		env := w.New()
		if _, err := env.Step(t.Context(), Call{ToolCall: rl.ToolCall{}}); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Step before Reset: %v", err)
		}
		foreign := w.Task(rl.Train, 0)
		foreign.Env = "another world"
		for _, task := range []rl.Task{{}, foreign, {Env: w.Name, Split: "exam", ID: "exam-0"}, {Env: w.Name, Split: rl.Train, Index: -1, ID: "train--1"}} {
			if _, err := env.Reset(t.Context(), task); rl.KindOf(err) != rl.Invalid {
				t.Errorf("Reset of %+v: %v", task, err)
			}
		}
		for range 2 {
			if err := env.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSpecIsComplete(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		seen := map[string]bool{}
		for _, tool := range w.New().Spec().Tools {
			if !json.Valid(tool.Parameters) || tool.Description == "" || seen[tool.Name] || tool.Effect == "" || tool.Name == FinalText {
				t.Errorf("%+v", tool)
			}
			seen[tool.Name] = true
		}
	})
}

var pathSafe = regexp.MustCompile(`^[a-z][a-z_]*-[0-9]+$`)

func TestTasksAreNamedApart(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		seen := map[rl.TaskID]bool{}
		for _, split := range w.Splits() {
			for i := range conformanceTasks {
				task := w.Task(split, i)
				if seen[task.ID] || !pathSafe.MatchString(string(task.ID)) || task.Env != w.Name || task.Split != split || task.Index != i {
					t.Fatalf("%+v", task)
				}
				seen[task.ID] = true
			}
		}
	})
}

// No fact of an evaluation task can have been met in training.
func TestSplitsShareNoFacts(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		met := map[string]rl.TaskID{}
		for _, split := range w.Splits() {
			for i := range 10 * conformanceTasks {
				if task := w.Task(split, i); split != rl.Eval {
					for _, fact := range w.Facts(task) {
						met[fact] = task.ID
					}
				}
			}
		}
		for i := range 10 * conformanceTasks {
			task := w.Task(rl.Eval, 100000+i)
			for _, fact := range w.Facts(task) {
				if other, ok := met[fact]; ok {
					t.Fatalf("%s and %s share %q", task.ID, other, fact)
				}
			}
		}
	})
}

func TestDemonstrationsAreWellFormed(t *testing.T) {
	everyWorld(t, func(t *testing.T, w World) {
		if w.Demonstrate == nil {
			return
		}
		for seed := range uint64(conformanceTasks) {
			d := w.Demonstrate(seed)
			if len(d.Imitate) != len(d.Messages) || !slices.Contains(d.Imitate, true) {
				t.Fatalf("seed %d: %+v", seed, d)
			}
			for i, imitate := range d.Imitate {
				if imitate && d.Messages[i].Role != rl.Assistant {
					t.Fatalf("seed %d imitates %+v", seed, d.Messages[i])
				}
			}
			if string(rl.CanonicalJSON(d)) != string(rl.CanonicalJSON(w.Demonstrate(seed))) {
				t.Fatalf("seed %d gives two demonstrations", seed)
			}
		}
	})
}

func TestGetListsTheNames(t *testing.T) {
	if _, err := Get("order"); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), `"order" is not one of orders`) {
		t.Error(err)
	}
}
