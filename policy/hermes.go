package policy

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

const (
	openTag, closeTag = "<tool_call>", "</tool_call>"
	maxCalls          = 128 // of one text; what follows is dropped
)

// textCalls finds tool calls written as text in the Hermes format,
//
//	<tool_call>
//	{"name": "find_order", "arguments": {"order": "48"}}
//	</tool_call>
//
// for servers that do not parse them. A call counts when its JSON is complete, closing tag or not. Incomplete JSON
// gives a call with Invalid set, so that the model is told; its text is in neither result. The rest of the text
// comes back trimmed.
func textCalls(text string) (rest string, calls []rl.ToolCall) {
	before, after, found := strings.Cut(text, openTag)
	if !found {
		return text, nil
	}
	var kept strings.Builder
	kept.WriteString(before)
	for found && len(calls) < maxCalls {
		call, left := hermesCall(len(calls), after)
		calls = append(calls, call)
		before, after, found = strings.Cut(left, openTag)
		kept.WriteString(before)
	}
	return strings.TrimSpace(kept.String()), calls
}

// hermesCall reads the call that follows an opening tag, and gives the text after it.
func hermesCall(i int, text string) (call rl.ToolCall, left string) {
	var v struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		call = toolCall(i, "", v.Name, "")
		call.Arguments, call.Invalid = nil, "the call is not valid JSON: "+err.Error()
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			call.Invalid = `the call is not an object like {"name": "...", "arguments": {...}}`
		}
		return call, afterCall(text)
	}
	left = text[d.InputOffset():]
	if trimmed := strings.TrimLeft(left, " \t\r\n"); strings.HasPrefix(trimmed, closeTag) {
		left = trimmed[len(closeTag):]
	}
	arguments := string(v.Arguments)
	var s string
	if strings.HasPrefix(arguments, `"`) && json.Unmarshal(v.Arguments, &s) == nil {
		arguments = s // JSON in a string, as on the wire
	}
	return toolCall(i, "", v.Name, arguments), left
}

// afterCall is where reading goes on after a call that could not be read: past its closing tag, or at the next
// opening one.
func afterCall(text string) string {
	end, next := strings.Index(text, closeTag), strings.Index(text, openTag)
	switch {
	case end >= 0 && (next < 0 || end < next):
		return text[end+len(closeTag):]
	case next >= 0:
		return text[next:]
	}
	return ""
}
