package gateway

import (
	"net/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// chatForm is how a chat completion is answered.
type chatForm struct{ stream, usage bool }

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
		return writeJSON(w, http.StatusOK, all)
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
