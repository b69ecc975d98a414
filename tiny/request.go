package tiny

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

// maxBody bounds a request, in bytes. A conversation that fits the context is far smaller.
const maxBody = 1 << 20

// wireRequest is a chat completion request: OpenAI's, with vLLM's return_token_ids and with token_ids in assistant
// messages. Members not listed are ignored, like user or store; those that would change the answer are listed and
// refused.
type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Temperature         float64         `json:"temperature"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Seed                int64           `json:"seed"`
	LogProbs            bool            `json:"logprobs"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	Stop                stopWords       `json:"stop"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	N                int            `json:"n"`
	TopP             float64        `json:"top_p"`
	TopLogProbs      int            `json:"top_logprobs"`
	PresencePenalty  float64        `json:"presence_penalty"`
	FrequencyPenalty float64        `json:"frequency_penalty"`
	LogitBias        map[string]any `json:"logit_bias"`
	ResponseFormat   struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

type wireMessage struct {
	Role      string      `json:"role"`
	Content   wireContent `json:"content"`
	ToolCalls []wireCall  `json:"tool_calls"`
	// TokenIDs, on an assistant message, are what the policy sampled: taken as they are in place of the text.
	TokenIDs []int32 `json:"token_ids"`
}

type wireCall struct {
	Function struct {
		Name      string      `json:"name"`
		Arguments wireContent `json:"arguments"` // JSON in a string
	} `json:"function"`
}

// wireContent is a string, null, or an array of text parts.
type wireContent string

func (c *wireContent) UnmarshalJSON(b []byte) error {
	if b[0] == '"' && bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) {
		*c = wireContent(b[1 : len(b)-1])
		return nil
	}
	if b[0] != '[' {
		return json.Unmarshal(b, (*string)(c))
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	*c = ""
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("a content part of type %q: this model reads text only", p.Type)
		}
		*c += wireContent(p.Text)
	}
	return nil
}

// stopWords is a string, null, or an array of strings. The answer's text ends before the first of them.
type stopWords []string

func (s *stopWords) UnmarshalJSON(b []byte) error {
	*s = nil
	if b[0] != '"' {
		return json.Unmarshal(b, (*[]string)(s))
	}
	*s = make([]string, 1)
	return json.Unmarshal(b, &(*s)[0])
}

// in is where the first of the words stands in a text; -1: none does.
func (s stopWords) in(text string) (at int) {
	at = -1
	for _, word := range s {
		if i := strings.Index(text, word); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

// readRequest reads and checks a request.
func (b *boxes) readRequest(w http.ResponseWriter, r *http.Request) (q wireRequest, body []byte, err error) {
	read := bytes.NewBuffer(make([]byte, 0, min(maxBody, max(0, r.ContentLength))+bytes.MinRead))
	_, err = read.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	body = read.Bytes()
	if err != nil {
		if _, ok := err.(*http.MaxBytesError); ok {
			return q, nil, &failure{http.StatusRequestEntityTooLarge, "context_length_exceeded", fmt.Sprintf("the request is larger than %d bytes, and nothing that fits the context is", maxBody), ""}
		}
		return q, nil, badRequest("", "the request could not be read: %v", err)
	}
	q, err = b.parseRequest(body)
	return q, body, err
}

func newWireRequest() wireRequest { return wireRequest{Temperature: 1, N: 1, TopP: 1} }

func decodeRequest(body []byte) (wireRequest, error) {
	q := newWireRequest()
	if err := json.Unmarshal(body, &q); err != nil {
		return q, badRequest("", "the request is not valid: %v", err)
	}
	return q, nil
}

func (b *boxes) parseRequest(body []byte) (wireRequest, error) {
	q, ok := b.quickRequest(body)
	if !ok {
		var err error
		if q, err = decodeRequest(body); err != nil {
			return q, err
		}
	}
	return q, q.check()
}

// check says what of a request this server does not do.
func (q *wireRequest) check() error {
	if q.MaxCompletionTokens != nil {
		q.MaxTokens = q.MaxCompletionTokens
	}
	for _, no := range [...]struct {
		param string
		set   bool
	}{
		{"n", q.N != 1}, {"top_p", q.TopP != 1}, {"top_logprobs", q.TopLogProbs != 0}, {"logit_bias", len(q.LogitBias) > 0},
		{"presence_penalty", q.PresencePenalty != 0}, {"frequency_penalty", q.FrequencyPenalty != 0},
		{"response_format", q.ResponseFormat.Type != "" && q.ResponseFormat.Type != "text"},
		{"tool_choice", !slices.Contains([]string{"", "null", `"auto"`, `"none"`}, string(q.ToolChoice))},
	} {
		if no.set {
			return badRequest(no.param, "this server does not do %s", no.param)
		}
	}
	switch {
	case q.Model == "":
		return badRequest("model", "the request names no model")
	case len(q.Messages) == 0:
		return badRequest("messages", "the request has no messages")
	case slices.Contains(q.Stop, ""):
		return badRequest("stop", "stop has an empty word")
	case len(q.Stop) > 0 && q.Stream:
		return badRequest("stop", "this server does not do stop in a stream")
	case q.MaxTokens != nil && *q.MaxTokens < 1:
		return badRequest("max_tokens", "max_tokens is %d: at least 1", *q.MaxTokens)
	case q.Temperature != 0 && !(q.Temperature >= 0.01 && q.Temperature <= 100):
		return badRequest("temperature", "temperature is %v: 0, or 0.01 to 100", q.Temperature)
	}
	return nil
}

// prompt renders the conversation, up to where the policy goes on.
func (q *wireRequest) prompt(box toolbox) ([]int32, error) {
	ids := []int32{tokenBegin}
	for i, m := range q.Messages {
		switch {
		case m.Role == "assistant" && m.TokenIDs != nil:
			ids = append(ids, tokenAssistant)
			for _, id := range m.TokenIDs {
				if id < 0 || id >= Vocab {
					return nil, badRequest("messages", "messages[%d].token_ids has %d: the vocabulary is 0 to %d", i, id, Vocab-1)
				}
			}
			ids = append(ids, m.TokenIDs...)
		case m.Role == "user" || m.Role == "assistant" || m.Role == "tool":
			ids = box.appendMessage(ids, m.message())
		case m.Role != "system" && m.Role != "developer":
			return nil, badRequest("messages", "messages[%d].role is %q: system, user, assistant or tool", i, m.Role)
		}
	}
	return append(ids, tokenAssistant), nil
}

func (m wireMessage) message() rl.Message {
	out := rl.Message{Role: rl.Role(m.Role), Content: string(m.Content)}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, rl.ToolCall{Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return out
}

// wireTool is a tool of a request.
type wireTool struct {
	Type     string  `json:"type"`
	Function rl.Tool `json:"function"`
}

// readWireTools is the toolbox of a request's tools.
func readWireTools(raw json.RawMessage) (toolbox, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var tools []wireTool
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, badRequest("tools", "the tools are not valid: %v", err)
	}
	functions := make([]rl.Tool, len(tools))
	for i, t := range tools {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, badRequest("tools", "tools[%d] is no function with a name", i)
		}
		functions[i] = t.Function
	}
	box, err := readTools(functions)
	if err != nil {
		return nil, badRequest("tools", "%v", err)
	}
	return box, nil
}
