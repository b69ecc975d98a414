package policy

import (
	"encoding/json"

	"github.com/longhaul-rl/longhaul/rl"
)

// appendMessage writes a message as go-openai marshals it, and leaves the object open. It is written by hand: a
// turn sends the whole history, and there is no time to look at each message by reflection, twice. Content that
// is empty is written, which go-openai leaves out and servers miss.
func appendMessage(b []byte, m rl.Message) []byte {
	b = appendString(append(b, `{"role":`...), string(m.Role))
	if m.Content != "" || len(m.ToolCalls) == 0 {
		b = appendString(append(b, `,"content":`...), m.Content)
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendCall(b, call)
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	if m.ToolCallID != "" {
		b = appendString(append(b, `,"tool_call_id":`...), m.ToolCallID)
	}
	return b
}

// appendCall writes a past call. One that could not be read is shown with empty arguments: servers parse the
// history's arguments and fail on what is no JSON object, and the policy should not learn from its own garbage.
func appendCall(b []byte, call rl.ToolCall) []byte {
	b = append(b, '{')
	if call.ID != "" {
		b = append(appendString(append(b, `"id":`...), call.ID), ',')
	}
	name, arguments := call.Name, string(call.Arguments)
	if call.Invalid != "" || arguments == "" {
		arguments = "{}"
	}
	if name == "" {
		name = "unknown"
	}
	b = appendString(append(b, `"type":"function","function":{"name":`...), name)
	b = appendString(append(b, `,"arguments":`...), arguments)
	return append(b, "}}"...)
}

// appendString writes s as encoding/json does.
func appendString(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&':
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // strings always marshal
			}
			return append(b[:start], quoted...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
