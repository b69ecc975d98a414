package gateway

import (
	"fmt"
	"net/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// response is an answer of the responses API. Members that only repeat the request are there since clients insist on them.
type response struct {
	ID            string            `json:"id"`
	Object        string            `json:"object"`
	CreatedAt     int64             `json:"created_at"` // 0: the same answer, the same bytes
	Status        string            `json:"status"`
	Background    bool              `json:"background"`
	Error         *struct{}         `json:"error"`
	Incomplete    *incomplete       `json:"incomplete_details"`
	Instructions  *string           `json:"instructions"`
	Metadata      map[string]string `json:"metadata"`
	Model         string            `json:"model"`
	Output        []map[string]any  `json:"output"`
	ParallelCalls bool              `json:"parallel_tool_calls"`
	Previous      *string           `json:"previous_response_id"`
	Temperature   float64           `json:"temperature"`
	TopP          float64           `json:"top_p"`
	ToolChoice    string            `json:"tool_choice"`
	Tools         []struct{}        `json:"tools"`
	Usage         *responseUsage    `json:"usage"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	Input        int            `json:"input_tokens"`
	InputDetail  map[string]int `json:"input_tokens_details"`
	Output       int            `json:"output_tokens"`
	OutputDetail map[string]int `json:"output_tokens_details"`
	Total        int            `json:"total_tokens"`
}

func (f responsesForm) write(w http.ResponseWriter, q question, a *ask) error {
	action := a.turn.Action
	r := response{
		ID: "resp_" + a.id, Object: "response", Status: "completed", Metadata: map[string]string{}, Model: q.model,
		ParallelCalls: true, Previous: f.previous, Temperature: 1, TopP: 1, ToolChoice: "auto", Tools: []struct{}{},
	}
	items := outputItems(a.id, action.Message)
	u := usage(action)
	used := &responseUsage{u.Prompt, map[string]int{"cached_tokens": 0}, u.Completion, map[string]int{"reasoning_tokens": 0}, u.Total}
	if f.stream {
		return f.events(w, r, items, used, action)
	}
	r.end(items, used, action)
	return writeJSON(w, http.StatusOK, r)
}

// end makes a response the finished one.
func (r *response) end(items []map[string]any, used *responseUsage, action rl.Action) {
	r.Output, r.Usage = items, used
	if action.Finish == "length" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
	}
}

// outputItems are an answer's text and its calls.
func outputItems(id string, m rl.Message) (items []map[string]any) {
	if m.Content != "" || len(m.ToolCalls) == 0 {
		items = append(items, map[string]any{"type": "message", "id": "msg_" + id, "status": "completed", "role": "assistant", "content": []any{textPart(m.Content)}})
	}
	for i, c := range m.ToolCalls {
		items = append(items, map[string]any{
			"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", id, i), "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": arguments(c),
		})
	}
	return items
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// responseEvents writes the events of a response's stream, numbered.
type responseEvents struct {
	*stream
	n int
}

func (s *responseEvents) send(kind string, data map[string]any) {
	data["type"], data["sequence_number"] = kind, s.n
	s.n++
	s.event(kind, data)
}

func (f responsesForm) events(w http.ResponseWriter, r response, items []map[string]any, used *responseUsage, action rl.Action) error {
	s := responseEvents{stream: newStream(w)}
	begun := r
	begun.Status, begun.Output = "in_progress", []map[string]any{}
	s.send("response.created", map[string]any{"response": begun})
	s.send("response.in_progress", map[string]any{"response": begun})
	for i, it := range items {
		if it["type"] == "message" {
			s.text(i, it, action.Message.Content)
		} else {
			s.call(i, it)
		}
	}
	r.end(items, used, action)
	s.send("response."+r.Status, map[string]any{"response": r})
	return s.err
}

func (s *responseEvents) text(i int, it map[string]any, text string) {
	at := func(more map[string]any) map[string]any {
		more["item_id"], more["output_index"], more["content_index"] = it["id"], i, 0
		return more
	}
	s.send("response.output_item.added", map[string]any{"output_index": i, "item": changed(it, "status", "in_progress", "content", []any{})})
	s.send("response.content_part.added", at(map[string]any{"part": textPart("")}))
	if text != "" {
		s.send("response.output_text.delta", at(map[string]any{"delta": text, "logprobs": []any{}}))
	}
	s.send("response.output_text.done", at(map[string]any{"text": text, "logprobs": []any{}}))
	s.send("response.content_part.done", at(map[string]any{"part": textPart(text)}))
	s.send("response.output_item.done", map[string]any{"output_index": i, "item": it})
}

func (s *responseEvents) call(i int, it map[string]any) {
	s.send("response.output_item.added", map[string]any{"output_index": i, "item": changed(it, "status", "in_progress", "arguments", "")})
	at := map[string]any{"item_id": it["id"], "output_index": i, "delta": it["arguments"]}
	s.send("response.function_call_arguments.delta", at)
	s.send("response.function_call_arguments.done", map[string]any{"item_id": it["id"], "output_index": i, "name": it["name"], "arguments": it["arguments"]})
	s.send("response.output_item.done", map[string]any{"output_index": i, "item": it})
}

// changed is an item with other values of some members.
func changed(it map[string]any, pairs ...any) map[string]any {
	out := map[string]any{}
	for k, v := range it {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}
