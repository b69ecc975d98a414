package gateway

import (
	"encoding/json"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// chatRequest is a chat completion's. What would change the distribution that is sampled from (temperature, top_p, penalties,
// tool_choice, response_format ...) is the run's to say, not the agent's, and is not read.
type chatRequest struct {
	Model         string          `json:"model"`
	Messages      []chatMessage   `json:"messages"`
	Tools         []chatTool      `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	N             *int            `json:"n"`
	Stop          json.RawMessage `json:"stop"`
	MaxTokens     *int            `json:"max_tokens"`
	MaxCompletion *int            `json:"max_completion_tokens"`
	Stream        bool            `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function *rl.Tool `json:"function"`
}

// content is a string, null, or an array of parts, of which only text can be carried.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(c))
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	*c = ""
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			*c += content(p.Text)
		case "refusal":
			*c += content(p.Refusal)
		default:
			return invalid("a content part of type %.40q: this gateway carries text", p.Type)
		}
	}
	return nil
}

func readChat(body []byte) (q question, f form, err error) {
	var r chatRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return q, nil, unread(err)
	}
	q = question{model: r.Model, most: least(r.MaxTokens, r.MaxCompletion)}
	if r.N != nil && *r.N != 1 {
		return q, nil, invalid("n is %d: this gateway gives one answer", *r.N)
	}
	if len(r.Messages) == 0 {
		return q, nil, invalid("the request has no messages")
	}
	for i, m := range r.Messages {
		said, err := m.message()
		if err != nil {
			return q, nil, invalid("messages[%d]: %v", i, err)
		}
		q.messages = append(q.messages, said)
	}
	if q.stop, err = stops(r.Stop); err != nil {
		return q, nil, err
	}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Function == nil || t.Function.Name == "" {
			return q, nil, invalid("tools[%d] is no function with a name", i)
		}
		q.tools = append(q.tools, *t.Function)
	}
	if string(r.ToolChoice) == `"none"` {
		q.tools = nil
	}
	return q, chatForm{r.Stream, r.StreamOptions != nil && r.StreamOptions.IncludeUsage}, nil
}

// unread is the refusal of a request that could not be read.
func unread(err error) error {
	if no, ok := err.(*refusal); ok {
		return no
	}
	return invalid("the request is not valid: %v", err)
}

// least is the smaller of two limits, of which either may be missing; 0: none.
func least(limits ...*int) (n int) {
	for _, l := range limits {
		if l != nil && *l > 0 && (n == 0 || *l < n) {
			n = *l
		}
	}
	return n
}

// stops reads stop sequences: one, a list, or null. Empty ones stop nothing.
func stops(raw json.RawMessage) (all []string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		all = make([]string, 1)
		err = json.Unmarshal(raw, &all[0])
	} else {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, invalid("stop: %v", err)
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" }), nil
}

var roles = map[string]rl.Role{
	"system": rl.System, "developer": rl.System, "user": rl.User, "assistant": rl.Assistant, "tool": rl.ToolRole, "function": rl.ToolRole,
}

func (m chatMessage) message() (rl.Message, error) {
	role, ok := roles[m.Role]
	if !ok {
		return rl.Message{}, invalid("the role is %.40q: system, developer, user, assistant or tool", m.Role)
	}
	out := rl.Message{Role: role, Content: string(m.Content)}
	if role == rl.ToolRole {
		out.ToolCallID = m.ToolCallID
	}
	if role == rl.Assistant {
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, toldCall(c.ID, c.Function.Name, c.Function.Arguments))
		}
	}
	return out, nil
}

// toldCall is a call as an agent tells it. Arguments that are no JSON object are shown to no policy again.
func toldCall(id, name, arguments string) rl.ToolCall {
	call := rl.ToolCall{ID: id, Name: name}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		call.Invalid = "the arguments are no JSON object"
		return call
	}
	call.Arguments = rl.CanonicalJSON(json.RawMessage(arguments)) // as the record has it: compact, digits as they came
	return call
}
