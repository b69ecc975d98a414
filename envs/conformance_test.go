package envs_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

const (
	conformanceTasks = 500 // of each split
	conformanceTurns = 24  // actions an episode may take here
)

// episode plays an Env as the rollout loop does, only simpler.
type episode struct {
	t        testing.TB
	env      envs.Env
	messages []rl.Message
	done     bool
}

func begin(t testing.TB, w tried, task rl.Task) *episode {
	t.Helper()
	e := &episode{t: t, env: w.New()}
	t.Cleanup(func() { e.env.Close() })
	e.reset(task)
	return e
}

func (e *episode) reset(task rl.Task) {
	e.t.Helper()
	o, err := e.env.Reset(e.t.Context(), task)
	if err != nil {
		e.t.Fatal(err)
	}
	e.messages, e.done = o.Messages, false
}

func (e *episode) act(action rl.Message) {
	e.t.Helper()
	e.messages = append(e.messages, action)
	calls := action.ToolCalls
	if len(calls) == 0 && e.env.Spec().TextEnds {
		calls = []rl.ToolCall{{Name: envs.FinalText, Arguments: rl.CanonicalJSON(action.Content)}}
	}
	for _, call := range calls {
		if e.done {
			return
		}
		r, err := e.env.Step(e.t.Context(), envs.Call{ToolCall: call})
		if err != nil {
			e.t.Fatal(err)
		}
		e.done = r.Done
		e.messages = append(e.messages, rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: call.ID})
	}
}

// play lets a player act until the episode is over.
func (e *episode) play(next func([]rl.Message) rl.Message) {
	e.t.Helper()
	for turn := 0; !e.done && turn < conformanceTurns; turn++ {
		e.act(next(e.messages))
	}
}

// score is the same however often it is asked for.
func (e *episode) score() float64 {
	e.t.Helper()
	s, err := e.env.Score(e.t.Context())
	again, err2 := e.env.Score(e.t.Context())
	if err != nil || err2 != nil || !s.Scored() || !rl.Countable(s.Value) || string(rl.CanonicalJSON(s)) != string(rl.CanonicalJSON(again)) {
		e.t.Fatalf("%+v, %v, then %+v, %v", s, err, again, err2)
	}
	return s.Value
}

func TestReferenceEarnsFullReward(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		if (w.Reference == nil) != (w.unproven != "") {
			t.Fatalf("its reference is nil: %v, and its sample says %q", w.Reference == nil, w.unproven)
		}
		if w.Reference == nil {
			return
		}
		for _, split := range w.Splits() {
			for _, task := range w.some(split, conformanceTasks) {
				e := begin(t, w, task)
				e.play(w.Reference(task))
				if got := e.score(); got != 1 {
					t.Fatalf("%s earns %g: %+v", task.ID, got, e.messages)
				}
				e.env.Close()
			}
		}
	})
}

func TestRandomAgentEarnsNearlyNothing(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		rng, earned := rand.New(rand.NewPCG(1, 2)), 0.0
		tasks := w.some(rl.Train, conformanceTasks)
		for _, task := range tasks {
			e := begin(t, w, task)
			e.play(func(m []rl.Message) rl.Message { return randomAction(rng, e.env.Spec(), m) })
			earned += e.score()
			e.env.Close()
		}
		if share := earned / float64(len(tasks)); share > .05 {
			t.Errorf("a random agent earns %.3f", share)
		}
	})
}

func TestResetBeginsTheSameEpisode(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		rng, second := rand.New(rand.NewPCG(3, 4)), &episode{t: t, env: w.New()}
		defer second.env.Close()
		for _, task := range w.some(rl.Train, 50) {
			first := begin(t, w, task)
			first.play(func(m []rl.Message) rl.Message { return randomAction(rng, first.env.Spec(), m) })
			second.reset(task) // after the episodes before
			for _, m := range first.messages {
				if m.Role == rl.Assistant {
					second.act(m)
				}
			}
			same(t, first, second)
			first.env.Close()
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

// A world has snapshots, or says for both that it has none.
func TestSnapshotGoesOnIdentically(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		e := begin(t, w, w.Task(rl.Train, 0))
		if _, err := e.env.Snapshot(t.Context()); errors.Is(err, envs.ErrNoSnapshot) {
			if err := e.env.Restore(t.Context(), []byte("{}")); !errors.Is(err, envs.ErrNoSnapshot) {
				t.Errorf("there are no snapshots, and Restore says %v", err)
			}
			return
		}
		rng := rand.New(rand.NewPCG(5, 6))
		for _, task := range w.some(rl.Train, 50) {
			e, next := begin(t, w, task), w.Reference(task)
			for range rng.IntN(6) {
				if !e.done {
					e.act(next(e.messages))
				}
			}
			b := snapshot(t, e.env)
			restored := &episode{t: t, env: w.New(), messages: slices.Clone(e.messages), done: e.done}
			if err := restored.env.Restore(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			e.play(next)
			restored.play(next)
			same(t, e, restored)
			if x, y := snapshot(t, e.env), snapshot(t, restored.env); string(x) != string(y) {
				t.Fatalf("%s: the restored episode ends in another state", task.ID)
			}
			e.env.Close()
			restored.env.Close()
		}
		whole := snapshot(t, e.env)
		for _, b := range []string{"", "null garbage", "[]", `{"split":"exam"}`, `{"index":-1}`, string(whole[:len(whole)-1])} {
			if err := e.env.Restore(t.Context(), []byte(b)); rl.KindOf(err) != rl.Corrupt {
				t.Errorf("restoring %q: %v", b, err)
			}
		}
	})
}

func snapshot(t *testing.T, env envs.Env) []byte {
	t.Helper()
	b, err := env.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMisuseIsAnError(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		env := w.New()
		if _, err := env.Step(t.Context(), envs.Call{ToolCall: rl.ToolCall{}}); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Step before Reset: %v", err)
		}
		if _, err := env.Score(t.Context()); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Score before Reset: %v", err)
		}
		foreign := w.Task(rl.Train, 0)
		foreign.Env = "another world"
		wrong := []rl.Task{{}, foreign, {Env: w.Name, Split: "exam", ID: "exam-0"}, {Env: w.Name, Split: rl.Train, Index: -1, ID: "train--1"}}
		if w.Count != nil {
			wrong = append(wrong, w.Task(rl.Eval, w.Count(rl.Eval)))
		}
		for _, task := range wrong {
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
	everyWorld(t, func(t *testing.T, w tried) {
		seen := map[string]bool{}
		for _, tool := range w.New().Spec().Tools {
			var schema jsonschema.Schema
			err := json.Unmarshal(tool.Parameters, &schema)
			if err == nil {
				_, err = schema.Resolve(nil)
			}
			effects := []envs.Effect{envs.Pure, envs.EpisodeLocal, envs.ExternalIdempotent, envs.ExternalOnce}
			if err != nil || schema.Type != "object" || tool.Description == "" || seen[tool.Name] || !slices.Contains(effects, tool.Effect) ||
				tool.Name == envs.FinalText || tool.Timeout < 0 || tool.OutputCap < 0 {
				t.Errorf("%+v: %v", tool, err)
			}
			seen[tool.Name] = true
		}
	})
}

var pathSafe = regexp.MustCompile(`^[a-z][a-z_]*-[0-9]+$`)

func TestTasksAreNamedApart(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		seen := map[rl.TaskID]bool{}
		for _, split := range w.Splits() {
			for i, task := range w.some(split, conformanceTasks) {
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
	everyWorld(t, func(t *testing.T, w tried) {
		met := map[string]rl.TaskID{}
		for _, split := range w.Splits() {
			for _, task := range w.some(split, 10*conformanceTasks) {
				for _, fact := range w.Facts(task) {
					if split != rl.Eval {
						met[fact] = task.ID
					}
				}
			}
		}
		held := w.some(rl.Eval, 10*conformanceTasks)
		if w.Count == nil { // where evaluations take theirs from
			for i := range held {
				held[i] = w.Task(rl.Eval, 100_000+i)
			}
		}
		for _, task := range held {
			for _, fact := range w.Facts(task) {
				if other, ok := met[fact]; ok {
					t.Fatalf("%s and %s share %q", task.ID, other, fact)
				}
			}
		}
	})
}

func TestDemonstrationsAreWellFormed(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		if w.Demonstrate == nil {
			return
		}
		for seed := range uint64(conformanceTasks) {
			d, err := w.Demonstrate(t.Context(), seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Imitate) != len(d.Messages) || !slices.Contains(d.Imitate, true) {
				t.Fatalf("seed %d: %+v", seed, d)
			}
			for i, imitate := range d.Imitate {
				if imitate && d.Messages[i].Role != rl.Assistant {
					t.Fatalf("seed %d imitates %+v", seed, d.Messages[i])
				}
			}
			if again, err := w.Demonstrate(t.Context(), seed); err != nil || string(rl.CanonicalJSON(d)) != string(rl.CanonicalJSON(again)) {
				t.Fatalf("seed %d gives two demonstrations", seed)
			}
		}
	})
}
