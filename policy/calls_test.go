package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

func tools() []rl.Tool {
	return []rl.Tool{{Name: "find", Parameters: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}}}`)}, {Name: "bare"}}
}

func TestRequestOnTheWire(t *testing.T) {
	client, last := canned(t, Options{Splice: true}, says(200, "", `{"choices":[{"message":{"content":"x"}}]}`))
	_, err := client.Act(t.Context(), Request{
		Model: `a,"messages":[{}] \`, Seed: 1<<63 | 1<<53 - 1, MaxTokens: 9, Tools: tools(),
		Messages: []rl.Message{
			{Role: rl.System, Content: `be "brief" ]}[{\`},
			{Role: rl.User},
			{Role: rl.Assistant, ToolCalls: []rl.ToolCall{
				{ID: "a", Name: "find", Arguments: json.RawMessage(`{"n":12345678901234567890,"x":1.0}`)},
				{ID: "b", Name: "find", Invalid: "the arguments are not valid JSON"},
				{ID: "c", Invalid: "an array", Arguments: json.RawMessage(`[1]`)},
			}},
			{Role: rl.ToolRole, ToolCallID: "a"},
			{Role: rl.Assistant},
			{Role: rl.Assistant, Content: "sure"},
		},
		Actions: [][]int32{{7, 8}, nil, {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := last()
	call := func(id, name, args string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}
	}
	want := []any{
		map[string]any{"role": "system", "content": `be "brief" ]}[{\`},
		map[string]any{"role": "user", "content": ""},
		map[string]any{"role": "assistant", "token_ids": []any{7., 8.}, "tool_calls": []any{
			call("a", "find", `{"n":12345678901234567890,"x":1.0}`), call("b", "find", `{}`), call("c", "unknown", `{}`)}},
		map[string]any{"role": "tool", "content": "", "tool_call_id": "a"},
		map[string]any{"role": "assistant", "content": ""},
		map[string]any{"role": "assistant", "content": "sure", "token_ids": []any{}},
	}
	if !reflect.DeepEqual(got["messages"], want) {
		t.Errorf("messages %v\nwant     %v", got["messages"], want)
	}
	delete(got, "messages")
	wantTools := []any{
		map[string]any{"type": "function", "function": map[string]any{"name": "find", "parameters": map[string]any{"type": "object", "properties": map[string]any{"order": map[string]any{"type": "string"}}}}},
		map[string]any{"type": "function", "function": map[string]any{"name": "bare", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}},
	}
	if !reflect.DeepEqual(got, map[string]any{"model": `a,"messages":[{}] \`, "temperature": 0., "seed": 9007199254740991., "max_tokens": 9.,
		"logprobs": true, "return_token_ids": true, "stream": false, "tools": wantTools}) {
		t.Errorf("%v", got)
	}
}

func TestActionsWithoutMessages(t *testing.T) {
	q := question("m")
	q.Actions = [][]int32{{1}}
	if _, err := New(Options{}).Act(t.Context(), q); rl.KindOf(err) != rl.Invalid {
		t.Fatal(err)
	}
}

func TestToolCalls(t *testing.T) {
	for wire, want := range map[string]rl.ToolCall{
		`"{\"order\": \"48\"}"`:                    {Arguments: json.RawMessage(`{"order":"48"}`)},
		`{"order": "48"}`:                          {Arguments: json.RawMessage(`{"order":"48"}`)}, // an object, not by the book
		`"{\"n\":12345678901234567890,\"x\":1.0}"`: {Arguments: json.RawMessage(`{"n":12345678901234567890,"x":1.0}`)},
		`""`:                         {Arguments: json.RawMessage(`{}`)},
		`null`:                       {Arguments: json.RawMessage(`{}`)},
		`"\"48\""`:                   {Arguments: json.RawMessage(`"48"`), Invalid: "the arguments must be a JSON object, not a string"},
		`"\"{\\\"a\\\":1}\""`:        {Arguments: json.RawMessage(`"{\"a\":1}"`), Invalid: "the arguments must be a JSON object, not a string"},
		`"[1]"`:                      {Arguments: json.RawMessage(`[1]`), Invalid: "the arguments must be a JSON object, not an array"},
		`17`:                         {Arguments: json.RawMessage(`17`), Invalid: "the arguments must be a JSON object, not a number"},
		`"true"`:                     {Arguments: json.RawMessage(`true`), Invalid: "the arguments must be a JSON object, not a boolean"},
		`"{\"order\":\"48\""`:        {Invalid: "the arguments are not valid JSON: unexpected end of JSON input"},
		`"order 48"`:                 {Invalid: "the arguments are not valid JSON: invalid character 'o' looking for beginning of value"},
		`"{\"a\":1} and"`:            {Invalid: "the arguments are not valid JSON: invalid character 'a' after top-level value"},
		`"{\"text\":\"a <b> & c\"}"`: {Arguments: json.RawMessage(`{"text":"a \u003cb\u003e \u0026 c"}`)},
	} {
		body := fmt.Sprintf(`{"choices":[{"finish_reason":"tool_calls","message":{"content":"going","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":%s}},{"function":{"name":"bare"}}]}}]}`, wire)
		client, _ := canned(t, Options{}, says(200, "", body))
		q := question("m")
		q.Tools = tools()
		r, err := client.Act(t.Context(), q)
		if err != nil || len(r.Message.ToolCalls) != 2 {
			t.Errorf("%s: %+v %v", wire, r, err)
			continue
		}
		want.ID, want.Name = "c1", "find"
		if got := r.Message.ToolCalls[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%s)\nwant %+v", wire, got, got.Arguments, want)
		}
		if r.Message.Content != "going" || r.Finish != "tool_calls" || r.Message.ToolCalls[1].ID != "call_1" {
			t.Errorf("%+v", r)
		}
		// A call that was stored and read again is the same bytes: a resumed episode shows the same history.
		var again rl.Message
		b, err := json.Marshal(r.Message)
		if err != nil || json.Unmarshal(b, &again) != nil || !reflect.DeepEqual(again, r.Message) {
			t.Errorf("%s: %+v, after storing %+v %v", wire, r.Message, again, err)
		}
	}
}

func TestContentForms(t *testing.T) {
	for wire, want := range map[string]string{
		`"plain"`: "plain", `null`: "", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`: "ab",
	} {
		client, _ := canned(t, Options{}, says(200, "", `{"choices":[{"message":{"role":"assistant","content":`+wire+`,"tool_calls":[]}}]}`))
		r, err := client.Act(t.Context(), question("m"))
		if err != nil || r.Message.Content != want || r.Message.ToolCalls != nil || r.Message.Role != rl.Assistant {
			t.Errorf("%s: %+v %v", wire, r, err)
		}
	}
}

func TestTextCalls(t *testing.T) {
	find := func(i int, args, invalid string) rl.ToolCall {
		c := rl.ToolCall{ID: fmt.Sprintf("call_%d", i), Name: "find", Invalid: invalid}
		if args != "" {
			c.Arguments = json.RawMessage(args)
		}
		return c
	}
	const call = `<tool_call>{"name": "find", "arguments": {"order": "48"}}`
	for text, want := range map[string]struct {
		rest  string
		calls []rl.ToolCall
	}{
		"no call":                 {"no call", nil},
		call + "</tool_call>":     {"", []rl.ToolCall{find(0, `{"order":"48"}`, "")}},
		call:                      {"", []rl.ToolCall{find(0, `{"order":"48"}`, "")}},
		call + " trailing":        {"trailing", []rl.ToolCall{find(0, `{"order":"48"}`, "")}},
		"a " + call + "\n" + call: {"a", []rl.ToolCall{find(0, `{"order":"48"}`, ""), find(1, `{"order":"48"}`, "")}},
		`<tool_call>{"name":"find","arguments":{"order":"48"}</tool_call> b`: {"b", []rl.ToolCall{
			{ID: "call_0", Invalid: "the call is not valid JSON: invalid character '<' after object key:value pair"}}},
		`<tool_call>{"name":"find","arguments":{"order":"48"}`: {"", []rl.ToolCall{
			{ID: "call_0", Invalid: "the call is not valid JSON: unexpected EOF"}}},
		`<tool_call>{"name": ` + call + `</tool_call>`: {"", []rl.ToolCall{
			{ID: "call_0", Invalid: "the call is not valid JSON: invalid character '<' looking for beginning of value"}, find(1, `{"order":"48"}`, "")}},
		`<tool_call>{"name":"find","arguments":"{\"order\":\"48\"}"}`:             {"", []rl.ToolCall{find(0, `{"order":"48"}`, "")}},
		`<tool_call>{"name":"find","arguments":"48"}`:                             {"", []rl.ToolCall{find(0, "48", "the arguments must be a JSON object, not a number")}},
		`<tool_call>{"name":"find","arguments":{"t":"</tool_call>"}}</tool_call>`: {"", []rl.ToolCall{find(0, `{"t":"\u003c/tool_call\u003e"}`, "")}},
		`<tool_call>[1]</tool_call>`:                                              {"", []rl.ToolCall{{ID: "call_0", Invalid: `the call is not an object like {"name": "...", "arguments": {...}}`}}},
		`<tool_call>{"arguments":{}}</tool_call>`:                                 {"", []rl.ToolCall{{ID: "call_0", Arguments: json.RawMessage(`{}`), Invalid: "the call names no tool"}}},
	} {
		rest, calls := textCalls(text)
		if rest != want.rest || !reflect.DeepEqual(calls, want.calls) {
			t.Errorf("%s\n %q %+v\nwant %q %+v", text, rest, calls, want.rest, want.calls)
		}
	}
}

// Text calls are looked for only when there are tools and the server parsed none.
func TestTextCallsInReply(t *testing.T) {
	const content = `so <tool_call>{\"name\":\"find\",\"arguments\":{\"order\":\"48\"}}`
	client, _ := canned(t, Options{}, says(200, "", `{"choices":[{"message":{"content":"`+content+`"}}]}`))
	q := question("m")
	if r, err := client.Act(t.Context(), q); err != nil || len(r.Message.ToolCalls) != 0 || !strings.Contains(r.Message.Content, "<tool_call>") {
		t.Fatalf("%+v %v", r, err)
	}
	q.Tools = tools()
	if r, err := client.Act(t.Context(), q); err != nil || len(r.Message.ToolCalls) != 1 || r.Message.Content != "so" {
		t.Fatalf("%+v %v", r, err)
	}
}

func FuzzTextCalls(f *testing.F) {
	f.Add(`a<tool_call>{"name":"find","arguments":{"order":"48"}}</tool_call>b`)
	f.Add(`<tool_call>{"name":"find","arguments":"{"`)
	f.Add(`<tool_call><tool_call>{}</tool_call>`)
	f.Fuzz(func(t *testing.T, text string) {
		_, calls := textCalls(text)
		for _, c := range calls {
			checkCall(t, c)
		}
		if len(calls) > maxCalls {
			t.Fatal(len(calls))
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add(`{"model":"m","prompt_token_ids":[1],"choices":[{"finish_reason":"stop","message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"token_ids":[1],"logprobs":{"content":[{"logprob":-1}]}}]}`)
	f.Add(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"function":{"arguments":{"a":1}}}]}}]}`)
	f.Add(`{"choices":[{"message":{"tool_calls":[{}],"Tool_Calls":[]}}]}`)
	f.Add(`{"error":{"message":"no"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		status := 200
		if strings.Contains(body, "error") {
			status = 400
		}
		c := New(Options{URL: "http://fuzz/v1", Transport: fixed{status, body}})
		q := question("m")
		q.Tools = tools()
		r, err := c.Act(t.Context(), q)
		if err != nil {
			if rl.KindOf(err) == "" {
				t.Fatal(err)
			}
			return
		}
		if r.LogProbs != nil && len(r.LogProbs) != len(r.Tokens) {
			t.Fatal(r)
		}
		for _, call := range r.Message.ToolCalls {
			checkCall(t, call)
		}
	})
}

func checkCall(t *testing.T, c rl.ToolCall) {
	t.Helper()
	object := json.Valid(c.Arguments) && c.Arguments[0] == '{' && c.Name != ""
	if c.ID == "" || object == (c.Invalid != "") {
		t.Fatalf("%+v", c)
	}
}
