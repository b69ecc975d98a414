package gateway

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// What frameworks make of an action in the conversation that they send next.
func TestSameAction(t *testing.T) {
	look := []rl.ToolCall{{ID: "a", Name: "look", Arguments: []byte(`{"at":1.0,"s":"\u003cé"}`)}}
	for _, c := range []struct {
		name    string
		was, is rl.Message
		same    bool
	}{
		{"as it was", rl.Message{Content: "yes"}, rl.Message{Content: "yes"}, true},
		{"trimmed", rl.Message{Content: "\n yes "}, rl.Message{Content: "yes"}, true},
		{"another", rl.Message{Content: "yes"}, rl.Message{Content: "no"}, false},
		{"re-spaced, in Python's numbers", rl.Message{ToolCalls: look}, rl.Message{ToolCalls: []rl.ToolCall{{ID: "b", Name: "look", Arguments: []byte(`{"s": "<é", "at": 1}`)}}}, true},
		{"another number", rl.Message{ToolCalls: look}, rl.Message{ToolCalls: []rl.ToolCall{{Name: "look", Arguments: []byte(`{"at":1.5,"s":"<é"}`)}}}, false},
		{"another tool", rl.Message{ToolCalls: look}, rl.Message{ToolCalls: []rl.ToolCall{{Name: "find", Arguments: look[0].Arguments}}}, false},
		{"a call less", rl.Message{ToolCalls: look}, rl.Message{}, false},
		{"text beside calls dropped", rl.Message{Content: "so", ToolCalls: look}, rl.Message{ToolCalls: look}, true},
		{"text dropped", rl.Message{Content: "so"}, rl.Message{}, false},
		{"text added beside calls", rl.Message{ToolCalls: look}, rl.Message{Content: "so", ToolCalls: look}, false},
		{"reasoning dropped", rl.Message{Content: "<think>hm\nhm</think>\n\nyes"}, rl.Message{Content: "yes"}, true},
		{"reasoning on its own lines", rl.Message{Content: "<think>hm</think>\n\nyes"}, rl.Message{Content: "<think>\nhm\n</think>\nyes"}, true},
		{"other reasoning", rl.Message{Content: "<think>hm</think>yes"}, rl.Message{Content: "<think>so</think>yes"}, false},
		{"what could not be read", rl.Message{ToolCalls: []rl.ToolCall{{Name: "look", Invalid: "why"}}}, rl.Message{ToolCalls: []rl.ToolCall{{Name: "look", Arguments: []byte(`{}`)}}}, true},
		{"told as text", rl.Message{Content: "so", ToolCalls: look}, rl.Message{Content: "so\nCalling tools:\n[{'id': 'a', 'type': 'function', 'function': {'name': 'look', 'arguments': {'at': 1.0, 's': '<é'}}}]"}, true},
		{"told as text, another", rl.Message{Content: "so", ToolCalls: look}, rl.Message{Content: "so\nCalling tools:\n[{'id': 'a', 'type': 'function', 'function': {'name': 'look', 'arguments': {'at': 2}}}]"}, false},
		{"code told as a call", rl.Message{Content: "<code>f()"}, rl.Message{Content: "<code>f()</code>\nCalling tools:\n[{'id': 'call_1', 'type': 'function', 'function': {'name': 'python_interpreter', 'arguments': 'f()'}}]"}, true},
	} {
		c.was.Role, c.is.Role = rl.Assistant, rl.Assistant
		if got := sameAction(c.was, c.is); got != c.same {
			t.Errorf("%s: %t", c.name, got)
		}
		c.is.Role = rl.User
		if sameAction(c.was, c.is) {
			t.Errorf("%s: the user's words are the policy's", c.name)
		}
	}
}

func TestToldCalls(t *testing.T) {
	for list, want := range map[string]string{
		`[{'function': {'name': 'f', 'arguments': {'a': "it's", 'b': [True, None, -1.5e3], 'c': 'q\'\n\xe9\u00e9'}}}]`: `{"a":"it's","b":[true,null,-1.5e3],"c":"q'\n\u00e9\u00e9"}`,
		`[{'function': {'name': 'f', 'arguments': {}}}]`:                                                               `{}`,
		`[{'function': {'name': 'f', 'arguments': 'x = 1'}}]`:                                                          `x = 1`,
		`[{'function': {'name': 'f', 'arguments': {}}}`:                                                                "",
		`[{'function': {'name': 'f', 'arguments': f()}}]`:                                                              "",
		`[{1: 2}]`: "",
		`[] more`:  "",
		``:         "",
	} {
		_, calls, ok := toldCalls("text\nCalling tools:\n" + list)
		got := ""
		if ok && len(calls) == 1 {
			got = string(calls[0].Arguments)
		}
		if want != got && canonical(want) != canonical(got) {
			t.Errorf("%s: %q", list, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		`{"b": 1.0, "a": [1e2, "\u00e9<"]}`: `{"a":[100,"é<"],"b":1}`,
		` {"a":12345678901234567890} `:      canonical(`{"a":12345678901234567000}`),
		`not JSON `:                         `not JSON`,
		`{} {}`:                             `{} {}`,
		`1e999`:                             `1e999`,
	} {
		if got := canonical(raw); got != want {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
