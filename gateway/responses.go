package gateway

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// responsesRequest is a request of the responses API. What is not read is the run's to say, as with chatRequest.
type responsesRequest struct {
	Model           string          `json:"model"`
	Input           json.RawMessage `json:"input"` // a string, or items
	Instructions    *string         `json:"instructions"`
	Tools           []responsesTool `json:"tools"`
	ToolChoice      json.RawMessage `json:"tool_choice"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Previous        *string         `json:"previous_response_id"`
	Conversation    json.RawMessage `json:"conversation"`
	Background      bool            `json:"background"`
	Stream          bool            `json:"stream"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// item is one item of an input.
type item struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

// responsesForm is how a response is answered.
type responsesForm struct {
	stream   bool
	previous *string
}

// given finds what the agent was answered; see Episode.given.
type given interface{ given(id string) *turn }

func readResponses(body []byte, g given) (q question, f form, err error) {
	var r responsesRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return q, nil, unread(err)
	}
	q = question{model: r.Model, most: least(r.MaxOutputTokens)}
	if len(r.Conversation) > 0 && string(r.Conversation) != "null" || r.Background {
		return q, nil, invalid("this gateway keeps no conversations and has no background answers")
	}
	if err := q.goOn(r, g); err != nil {
		return q, nil, err
	}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Name == "" {
			return q, nil, invalid("tools[%d] is no function with a name, but %.40q: this gateway has no tools of its own", i, t.Type)
		}
		q.tools = append(q.tools, rl.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	if string(r.ToolChoice) == `"none"` {
		q.tools = nil
	}
	if len(q.messages) == 0 {
		return q, nil, invalid("the request has no input")
	}
	return q, responsesForm{r.Stream, r.Previous}, nil
}

// goOn puts the conversation together: instructions, what was said up to the previous response, and the input.
func (q *question) goOn(r responsesRequest, g given) error {
	if r.Instructions != nil && *r.Instructions != "" {
		q.messages = append(q.messages, rl.Message{Role: rl.System, Content: *r.Instructions})
	}
	if r.Previous != nil && *r.Previous != "" {
		t := g.given(strings.TrimPrefix(*r.Previous, "resp_"))
		if t == nil {
			return &refusal{404, "previous_response_not_found", "previous_response_id names no response of this episode"}
		}
		before, _ := t.conversation()
		for len(q.messages) > 0 && len(before) > 0 && before[0].Role == rl.System {
			before = before[1:] // instructions are not carried over
		}
		q.messages = append(q.messages, before...)
	}
	items, err := inputItems(r.Input)
	if err != nil {
		return err
	}
	said := assembly{question: q, given: g}
	for i, it := range items {
		if err := said.add(it); err != nil {
			return invalid("input[%d]: %v", i, err)
		}
	}
	return nil
}

func inputItems(raw json.RawMessage) (items []item, err error) {
	var say string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case json.Unmarshal(raw, &say) == nil:
		return []item{{Role: "user", Content: content(say)}}, nil
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, unread(err)
	}
	return items, nil
}

// assembly makes messages of items: an answer is several, its text and its calls.
type assembly struct {
	*question
	given given
	open  bool   // the last message is an answer that may go on
	of    string // which, where its items say so
}

func (a *assembly) add(it item) error {
	kind := it.Type
	if kind == "" {
		kind = "message"
	}
	switch kind {
	case "reasoning":
		return nil
	case "item_reference":
		return a.refer(it.ID)
	case "function_call":
		m := a.answer(cmp.Or(it.ID, it.CallID))
		m.ToolCalls = append(m.ToolCalls, toldCall(it.CallID, it.Name, it.Arguments))
		return nil
	case "function_call_output":
		a.say(rl.Message{Role: rl.ToolRole, Content: string(it.Output), ToolCallID: it.CallID})
		return nil
	case "message":
		role, ok := roles[it.Role]
		if !ok || role == rl.ToolRole {
			return invalid("the role is %.40q: system, developer, user or assistant", it.Role)
		}
		if role == rl.Assistant {
			a.answer(it.ID).Content += string(it.Content)
			return nil
		}
		a.say(rl.Message{Role: role, Content: string(it.Content)})
		return nil
	}
	return invalid("an item of type %.40q: this gateway carries messages, reasoning, function calls and their outputs", it.Type)
}

func (a *assembly) say(m rl.Message) {
	a.open = false
	a.messages = append(a.messages, m)
}

// answer is the message that an item of an answer belongs to: the one at hand, unless the item is of another answer.
func (a *assembly) answer(id string) *rl.Message {
	of, _ := answerOf(id)
	if !a.open || of != "" && a.of != "" && of != a.of {
		a.say(rl.Message{Role: rl.Assistant})
		a.open, a.of = true, ""
	}
	a.of = cmp.Or(a.of, of)
	return &a.messages[len(a.messages)-1]
}

// refer puts in an item by its id: the text of an answer, or one of its calls.
func (a *assembly) refer(id string) error {
	if strings.HasPrefix(id, "rs_") {
		return nil
	}
	of, n := answerOf(id)
	t := a.given.given(of)
	if t == nil {
		return invalid("%.60q is no item of this episode", id)
	}
	said := t.Action.Message
	switch {
	case strings.HasPrefix(id, "msg_"):
		a.answer(id).Content += said.Content
	case n >= 0 && n < len(said.ToolCalls):
		m := a.answer(id)
		m.ToolCalls = append(m.ToolCalls, said.ToolCalls[n])
	default:
		return invalid("%.60q is no item of this episode", id)
	}
	return nil
}

// answerOf is the id of the answer that an item is of, and the number of the call that it is: msg_ID, fc_ID_0, or call_ID_0 where
// an item has no id but its call's.
func answerOf(item string) (id string, call int) {
	_, rest, _ := strings.Cut(item, "_")
	id, number, ok := strings.Cut(rest, "_")
	call, err := strconv.Atoi(number)
	if !ok || err != nil {
		return id, -1
	}
	return id, call
}
