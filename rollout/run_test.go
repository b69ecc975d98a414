package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// contents are the texts of an observation.
func contents(o rl.Observation) (out []string) {
	for _, m := range o.Messages {
		out = append(out, m.Content)
	}
	return out
}

func TestRunRecordsTurns(t *testing.T) {
	env := onStage(echo)
	env.spec.System = "Be brief."
	got := mustRun(t, env, client(scripted(inTurn(says("", "echo", `{"text": "hi"}`), says("done", "end", "{}")))), options())
	if got.Stop != rl.Answered || len(got.Turns) != 2 || got.Outcome.Value != 1 || got.Schema != rl.TrajectorySchema || got.Task != options().Task {
		t.Fatalf("%+v", got)
	}
	if o := got.Turns[0].Observation; !slices.Equal(contents(o), []string{"Be brief.", "go"}) || o.Messages[0].Role != rl.System {
		t.Errorf("the first observation is %+v", o)
	}
	if !slices.Equal(contents(got.Turns[1].Observation), []string{"hi"}) || !slices.Equal(contents(got.Closing), []string{"the end"}) {
		t.Errorf("%+v, %+v", got.Turns[1].Observation, got.Closing)
	}
	if got.Turns[0].Reward != .5 || got.Turns[1].Reward != 0 {
		t.Errorf("rewards %g, %g", got.Turns[0].Reward, got.Turns[1].Reward)
	}
	a := got.Turns[1].Action
	if a.Version != "r@000000" || a.Seed != rl.Seed(7, "turn", 1) || a.Finish != "stop" || len(a.LogProbs) != len(a.Tokens) {
		t.Errorf("%+v", a)
	}
}

// Prompts are kept as differences: the second one begins with all of the first turn.
func TestRunKeepsPromptsAsDifferences(t *testing.T) {
	got := mustRun(t, onStage(echo), client(scripted(inTurn(says("", "echo", `{"text":"hi"}`), says("", "end", "{}")))), options())
	first, second := got.Turns[0].Action, got.Turns[1].Action
	if first.Kept != 0 || second.Kept != len(first.Prompt)+len(first.Tokens) {
		t.Errorf("kept %d and %d", first.Kept, second.Kept)
	}
	if want := []int32{'t' + 1000, 'h', 'i', 0, 'a' + 1000}; !slices.Equal(second.Prompt, want) {
		t.Errorf("the second prompt adds %v, not %v", second.Prompt, want)
	}
	if samples, why := got.Samples(); len(samples) != 1 || why != "" {
		t.Errorf("%d samples, %q", len(samples), why)
	}
}

// A bad call leaves its siblings alone: every call has its own result, in order, though all ids are the same.
func TestRunPairsResultsByIndex(t *testing.T) {
	env := onStage(echo)
	env.spec.Tools[0].OutputCap = 4
	action := says("", "echo", `{"text":"one"}`, "echo", `{"text":`, "eco", `{}`, "echo", `{"text":5}`, "echo", `"three"`,
		"echo", `{"text":"sévère"}`, "end", "{}", "echo", `{"text":"late"}`)
	got := mustRun(t, env, client(scripted(inTurn(action))), options())
	results := contents(got.Closing)
	want := []string{"one", "bad call: the arguments are not valid JSON: ", `bad call: there is no tool "eco"; the tools are echo, end`,
		`bad call: "text" of echo must be string, not number`, "bad call: the arguments must be a JSON object, not a string",
		"sév\n[truncated: 4 of 8 bytes]", "the end", "not executed: the episode has ended"}
	if len(results) != len(want) || got.Stop != rl.Answered || len(env.calls) != 3 {
		t.Fatalf("%s, %d calls executed, %q", got.Stop, len(env.calls), results)
	}
	for i := range want {
		if !strings.HasPrefix(results[i], want[i]) || got.Closing.Messages[i].ToolCallID != "same" {
			t.Errorf("result %d is %q, not %q", i, results[i], want[i])
		}
	}
	if got.Turns[0].Reward != 1 {
		t.Errorf("two echoes earn %g", got.Turns[0].Reward)
	}
}

// Arguments that nobody can read are not shown to the policy again; what it sampled is kept for training.
func TestRunNeverReplaysGarbage(t *testing.T) {
	got := mustRun(t, onStage(echo), client(scripted(func(q asked) wireMessage {
		for _, m := range q.Messages {
			for _, c := range m.ToolCalls {
				if c.Function.Arguments != "{}" {
					t.Errorf("the prompt has %s", c.Function.Arguments)
				}
			}
		}
		return inTurn(says("", "echo", `{"text":`), says("", "echo", `"bare"`), says("", "end", "{}"))(q)
	})), options())
	if len(got.Turns) != 3 || len(got.Turns[0].Action.Tokens) != len(`<echo{"text":>`)+1 {
		t.Fatalf("%+v", got.Turns)
	}
	if samples, why := got.Samples(); len(samples) != 3 || why != "" { // the rendering differs from what was sampled
		t.Errorf("%d samples, %q", len(samples), why)
	}
}

func TestRunKeepsDigits(t *testing.T) {
	env := onStage(echo)
	mustRun(t, env, client(scripted(inTurn(says("", "end", `{"n": 12345678901234567890, "x": 1.0, "s": "1"}`)))), options())
	if got := string(env.calls[0].Arguments); got != `{"n":12345678901234567890,"x":1.0,"s":"1"}` {
		t.Error(got)
	}
}

func TestRunStops(t *testing.T) {
	for name, c := range map[string]struct {
		script   []wireMessage
		textEnds bool
		noCall   string
		stop     rl.StopReason
		turns    int
		say      string // the answer to the first action
	}{
		"answered":           {script: []wireMessage{says("", "end", "{}")}, stop: rl.Answered, turns: 1, say: "the end"},
		"max_turns":          {script: []wireMessage{says("", "echo", `{"text":"x"}`)}, stop: rl.MaxTurns, turns: 5, say: "x"},
		"nothing said":       {script: []wireMessage{says("")}, stop: rl.EmptyAction, turns: 1},
		"only space":         {script: []wireMessage{says(" \n")}, stop: rl.EmptyAction, turns: 1},
		"text that ends":     {script: []wireMessage{says("42")}, textEnds: true, stop: rl.Answered, turns: 1},
		"text, then the end": {script: []wireMessage{says("hm"), says("", "end", "{}")}, stop: rl.Answered, turns: 2, say: "bad call: your message calls no tool; the tools are echo, end"},
		"text, in its words": {script: []wireMessage{says("hm"), says("", "end", "{}")}, noCall: "bad call", stop: rl.Answered, turns: 2, say: "bad call"},
		"a call without its last brace": {script: []wireMessage{says(`<tool_call>{"name":"end","arguments":{}</tool_call>`), says("", "end", "{}")}, stop: rl.Answered, turns: 2,
			say: "bad call: the call is not valid JSON: invalid character '<' after object key:value pair"},
		"a call whose arguments are a string": {script: []wireMessage{says(`<tool_call>{"name":"echo","arguments":"{\"text\":\"x\"}"}`), says("", "end", "{}")}, stop: rl.Answered, turns: 2, say: "x"},
		"a bare string as arguments":          {script: []wireMessage{says("", "echo", `"x"`), says("", "end", "{}")}, stop: rl.Answered, turns: 2, say: "bad call: the arguments must be a JSON object, not a string"},
		"a call in its words":                 {script: []wireMessage{says(`<tool_call>{"name":"end","arguments":{}}`)}, stop: rl.Answered, turns: 1, say: "the end"},
	} {
		t.Run(name, func(t *testing.T) {
			env := onStage(echo)
			env.spec.TextEnds, env.spec.NoCall = c.textEnds, c.noCall
			if c.textEnds {
				env.step = func(_ context.Context, call envs.Call) (envs.Result, error) {
					if call.Name != envs.FinalText || string(call.Arguments) != `"42"` {
						t.Errorf("the text comes as %+v", call)
					}
					return envs.Result{Reward: 2}, nil
				}
			}
			got := mustRun(t, env, client(scripted(inTurn(c.script...))), options())
			if got.Stop != c.stop || len(got.Turns) != c.turns || got.Outcome.Value != 1 {
				t.Fatalf("%s after %d turns", got.Stop, len(got.Turns))
			}
			o := got.Closing
			if len(got.Turns) > 1 {
				o = got.Turns[1].Observation
			}
			if c.say != "" && !slices.Equal(contents(o), []string{c.say}) {
				t.Errorf("the first action is answered by %+v", o)
			}
			if c.textEnds && got.Turns[0].Reward != 2 {
				t.Errorf("%+v", got.Turns[0])
			}
		})
	}
}

// A chat model that plays like the reference earns full reward through the wire.
func TestRunPlaysTheOrderDesk(t *testing.T) {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		o := options()
		o.Task, o.MaxTurns = world.Task(rl.Eval, i), 20
		got := mustRun(t, world.New(), client(scripted(reference(world, o.Task))), o)
		if got.Outcome.Value != 1 || got.Stop != rl.Answered {
			t.Fatalf("%s: %s, %+v", o.Task.ID, got.Stop, got.Outcome)
		}
		if samples, why := got.Samples(); len(samples) != 1 || why != "" {
			t.Fatalf("%d samples, %q", len(samples), why)
		}
	}
}

// reference plays a world's reference solution from the messages on the wire.
func reference(w envs.World, task rl.Task) func(asked) wireMessage {
	play := w.Reference(task)
	return func(q asked) wireMessage {
		var messages []rl.Message
		for _, m := range q.Messages {
			messages = append(messages, rl.Message{Role: m.Role, Content: m.Content})
		}
		call := play(messages).ToolCalls[0]
		return says("", call.Name, string(call.Arguments))
	}
}
