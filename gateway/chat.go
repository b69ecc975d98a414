package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"

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

// chatForm is how a chat completion is answered.
type chatForm struct{ stream, usage bool }

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

// stops reads stop sequences: one, a list, or null.
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
	return all, nil
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

// chatAnswer is a chat completion.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // 0: the same answer, the same bytes
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index    int       `json:"index"`
	Message  *chatSaid `json:"message,omitempty"`
	Delta    *chatSaid `json:"delta,omitempty"`
	LogProbs *struct{} `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

type chatSaid struct {
	Role    string         `json:"role,omitempty"`
	Content *string        `json:"content"`
	Calls   []chatSaidCall `json:"tool_calls,omitempty"`
}

type chatSaidCall struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (f chatForm) write(w http.ResponseWriter, q question, a *ask) error {
	action := a.turn.Action
	said := &chatSaid{Role: "assistant"}
	if c := action.Message.Content; c != "" || len(action.Message.ToolCalls) == 0 {
		said.Content = &c
	}
	for i, c := range action.Message.ToolCalls {
		one := chatSaidCall{ID: c.ID, Type: "function", Function: chatFunction{c.Name, arguments(c)}}
		if f.stream {
			one.Index = &i
		}
		said.Calls = append(said.Calls, one)
	}
	used := usage(action)
	all := chatAnswer{ID: "chatcmpl-" + a.id, Object: "chat.completion", Model: q.model, Usage: &used}
	if !f.stream {
		all.Choices = []chatChoice{{Message: said, Finish: &action.Finish}}
		return send(w, all)
	}
	all.Object, all.Usage = "chat.completion.chunk", nil
	s := newStream(w)
	all.Choices = []chatChoice{{Delta: said}}
	s.event("", all)
	all.Choices = []chatChoice{{Delta: &chatSaid{}, Finish: &action.Finish}}
	s.event("", all)
	if f.usage {
		all.Choices, all.Usage = []chatChoice{}, &used
		s.event("", all)
	}
	s.line("data: [DONE]\n\n")
	return s.err
}

func usage(a rl.Action) chatUsage {
	n := a.Kept + len(a.Prompt)
	return chatUsage{n, len(a.Tokens), n + len(a.Tokens)}
}

// send writes an answer in one piece.
func send(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, err = w.Write(b)
	return err
}
