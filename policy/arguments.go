package policy

import "encoding/json"

// stringArguments puts the arguments of tool calls into strings, where a server gave the JSON itself: go-openai has
// no room for that.
func stringArguments(message json.RawMessage) json.RawMessage {
	var m struct {
		Calls []struct {
			Function struct {
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	strict := true
	if json.Unmarshal(message, &m) == nil { // else go-openai will say what is wrong with it
		for _, call := range m.Calls {
			a := call.Function.Arguments
			strict = strict && (len(a) == 0 || a[0] == '"' || a[0] == 'n')
		}
	}
	if strict {
		return message
	}
	argument := func(a json.RawMessage) json.RawMessage {
		if a[0] == '"' || a[0] == 'n' {
			return a
		}
		s, err := json.Marshal(string(a))
		if err != nil {
			panic(err) // strings always marshal
		}
		return s
	}
	function := func(f json.RawMessage) json.RawMessage { return edit(f, "arguments", argument) }
	call := func(c json.RawMessage) json.RawMessage { return edit(c, "function", function) }
	return edit(message, "tool_calls", func(calls json.RawMessage) json.RawMessage {
		var all []json.RawMessage
		if json.Unmarshal(calls, &all) != nil {
			return calls
		}
		for i := range all {
			all[i] = call(all[i])
		}
		return remarshal(all, calls)
	})
}

// edit changes a member of an object; what is no object, or lacks the member, stays as it is.
func edit(object json.RawMessage, key string, change func(json.RawMessage) json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil || len(m[key]) == 0 {
		return object
	}
	m[key] = change(m[key])
	return remarshal(m, object)
}

func remarshal(v any, otherwise json.RawMessage) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return b
}
