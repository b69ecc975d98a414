package envs_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// shape is the part of a tool's schema that its arguments are made up from.
type shape struct {
	Properties map[string]struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	} `json:"properties"`
}

// randomAction calls some tool with words that were in the conversation, of the right types, which is kinder than noise.
func randomAction(rng *rand.Rand, spec envs.Spec, messages []rl.Message) rl.Message {
	var words []string
	for _, m := range messages {
		words = append(words, strings.FieldsFunc(m.Content, func(r rune) bool { return strings.ContainsRune(" ,?\n", r) })...)
	}
	tool := spec.Tools[rng.IntN(len(spec.Tools))]
	var s shape
	json.Unmarshal(tool.Parameters, &s)
	arguments := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		from := rng.IntN(len(words))
		switch p := s.Properties[name]; {
		case len(p.Enum) > 0:
			arguments[name] = p.Enum[rng.IntN(len(p.Enum))]
		case p.Type == "integer" || p.Type == "number":
			arguments[name] = rng.IntN(20)
		case p.Type == "boolean":
			arguments[name] = rng.IntN(2) == 0
		default:
			arguments[name] = strings.Join(words[from:min(len(words), from+1+rng.IntN(2))], " ")
		}
	}
	return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{{Name: tool.Name, Arguments: rl.CanonicalJSON(arguments)}}}
}

// odd are arguments, and values of arguments, that models and attackers have come up with.
var odd = []string{
	"", "{", "null", "7", `"text"`, "[]", "{}", `{"no":"such"}`, `{"order":48}`, `{"box":["C7"]}`, `{"place":null}`, "-0", "1e999", "12345678901234567890", "1.0",
	"true", `""`, `"\ud800"`, `"\u0000"`, `"'; DROP TABLE orders; --"`, `"../../../etc/passwd"`, `"<|end|>"`, `{"a":{"a":{"a":[[[[]]]]}}}`, `{"a":1,"a":2}`, "\xff\xfe",
	`"` + strings.Repeat("x", 100_000) + `"`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
}

// fuzzedCall is a call of a tool, with names and arguments that need not fit.
func fuzzedCall(rng *rand.Rand, spec envs.Spec) rl.ToolCall {
	tool := spec.Tools[rng.IntN(len(spec.Tools))]
	call := rl.ToolCall{Name: tool.Name, Arguments: json.RawMessage(odd[rng.IntN(len(odd))])}
	switch rng.IntN(20) {
	case 0:
		call.Name = []string{"", "no_such_tool", envs.FinalText, tool.Name + " ", strings.Repeat("x", 10_000)}[rng.IntN(5)]
		return call
	case 1, 2, 3:
		return call
	}
	var s shape
	json.Unmarshal(tool.Parameters, &s)
	var members []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		value := odd[rng.IntN(len(odd))]
		if rng.IntN(2) == 0 {
			value = string(rl.CanonicalJSON(fmt.Sprint(rng.IntN(10_000))))
		}
		if json.Valid([]byte(value)) && rng.IntN(10) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
	}
	call.Arguments = json.RawMessage("{" + strings.Join(members, ",") + "}")
	return call
}

// fuzzedCalls are made of each world, over several of its tasks.
const (
	fuzzedCalls  = 1000
	callsOfATask = 50
	mostContent  = 16 << 20 // bytes: what a server may send at once
)

// What a model does wrong is an observation, whatever it is: no error, no panic, and always something to read.
func TestFuzzedCallsAreObservations(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		rng := rand.New(rand.NewPCG(7, 8))
		tasks := w.some(rl.Train, fuzzedCalls/callsOfATask)
		e := begin(t, w, tasks[0])
		for i := range cmp.Or(w.calls, fuzzedCalls) {
			if i%callsOfATask == 0 || e.done {
				e.score()
				e.reset(tasks[i/callsOfATask%len(tasks)])
			}
			call := fuzzedCall(rng, e.env.Spec())
			r, err := e.env.Step(t.Context(), envs.Call{ToolCall: call, Key: fmt.Sprintf("fuzz/%d", i)})
			if err != nil {
				t.Fatalf("%s(%.200s): %v", call.Name, call.Arguments, err)
			}
			if e.done = r.Done; r.Content == "" && !r.Done || len(r.Content) > mostContent {
				t.Errorf("%s(%.200s) says %d bytes", call.Name, call.Arguments, len(r.Content))
			}
		}
	})
}

// A tool that says that it changes nothing does not, whatever it is called with.
func TestPureToolsChangeNothing(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		rng := rand.New(rand.NewPCG(9, 10))
		e := begin(t, w, w.Task(rl.Train, 0))
		spec := e.env.Spec()
		spec.Tools = slices.DeleteFunc(slices.Clone(spec.Tools), func(t envs.Tool) bool { return t.Effect != envs.Pure })
		was, err := e.env.Snapshot(t.Context())
		if len(spec.Tools) == 0 || err != nil { // nothing to hold to it, or to hold it to
			return
		}
		for i := range 200 {
			action := randomAction(rng, spec, e.messages)
			if i%2 == 0 {
				action.ToolCalls[0] = fuzzedCall(rng, spec)
			}
			if _, pure := spec.Tool(action.ToolCalls[0].Name); !pure {
				continue
			}
			e.act(action)
			if string(snapshot(t, e.env)) != string(was) {
				t.Fatalf("%+v changed the episode", action)
			}
		}
	})
}

// A method whose context has ended returns soon, and what it says then is no result of the world's.
func TestDeadlinesAreKept(t *testing.T) {
	everyWorld(t, func(t *testing.T, w tried) {
		e := begin(t, w, w.Task(rl.Train, 0))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		rng := rand.New(rand.NewPCG(11, 12))
		for name, method := range map[string]func() error{
			"Step": func() error {
				_, err := e.env.Step(over, envs.Call{ToolCall: randomAction(rng, e.env.Spec(), e.messages).ToolCalls[0]})
				return err
			},
			"Snapshot": func() error { _, err := e.env.Snapshot(over); return err },
			"Score":    func() error { _, err := e.env.Score(over); return err },
			"Reset":    func() error { _, err := e.env.Reset(over, w.Task(rl.Train, 0)); return err },
			"Close":    e.env.Close,
		} {
			start := time.Now()
			err := method()
			if spent := time.Since(start); spent > 30*time.Second {
				t.Errorf("%s took %s", name, spent)
			}
			if kind := rl.KindOf(err); err != nil && kind != rl.Unavailable && kind != rl.Invalid && !isOver(err) { // Invalid: after Close
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func isOver(err error) bool {
	return err == envs.ErrNoSnapshot || strings.Contains(err.Error(), context.Canceled.Error())
}
