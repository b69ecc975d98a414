package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// exchange is one call's part of the wire that go-openai does not carry.
type exchange struct {
	top      []byte // members for the request object
	messages []byte // its messages, in place of none
	reply    extended
	quick    *openai.ChatCompletionResponse // the whole reply, when go-openai need not read it
}

// extended is a reply with what go-openai's types lack, in the words of vLLM (prompt ids at the top for chat, in the
// choice for completions), llama.cpp (an id in each logprob) and SGLang (response_token_ids).
type extended struct {
	Model   json.RawMessage `json:"model"`
	Prompt  []int32         `json:"prompt_token_ids"`
	Choices []choice        `json:"choices"`
}

type choice struct {
	Prompt   []int32 `json:"prompt_token_ids"`
	Tokens   []int32 `json:"token_ids"`
	Response []int32 `json:"response_token_ids"`
	LogProbs struct {
		Content []logProb `json:"content"`
	} `json:"logprobs"`
	Message json.RawMessage `json:"message"`
	Finish  json.RawMessage `json:"finish_reason"`
}

type logProb struct {
	ID      *int32   `json:"id"`
	LogProb *float32 `json:"logprob"`
}

// exchange prepares the extension of q: token ids asked for, a temperature even when it is 0 (go-openai leaves that
// out, and servers then sample at 1), max_tokens (which go-openai has replaced by a name that not every server
// knows), words to stop at, tools that need no marshalling, and the messages: content even when it is empty, and spliced past actions.
func (s *server) exchange(q Request) (*exchange, error) {
	x := &exchange{}
	x.top = strconv.AppendFloat([]byte(`"temperature":`), q.Temperature, 'g', -1, 64)
	if q.MaxTokens > 0 {
		x.top = strconv.AppendInt(append(x.top, `,"max_tokens":`...), int64(q.MaxTokens), 10)
	}
	if !s.plain.Load() {
		x.top = append(x.top, `,"return_token_ids":true`...)
	}
	if len(q.Stop) > 0 {
		x.top = append(append(x.top, `,"stop":`...), rl.CanonicalJSON(q.Stop)...)
	}
	if len(q.Tools) > 0 {
		tools, err := s.client.renderTools(q.Tools)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, s.server.At, "the tools cannot be sent: %w", err)
		}
		x.top = append(append(x.top, `,"tools":`...), tools...)
	}
	action := 0
	x.messages = make([]byte, 0, 256*len(q.Messages))
	for i, m := range q.Messages {
		if i > 0 {
			x.messages = append(x.messages, ',')
		}
		x.messages = appendMessage(x.messages, m)
		if m.Role == rl.Assistant {
			if s.client.splice && action < len(q.Actions) && q.Actions[action] != nil {
				x.messages = appendIDs(append(x.messages, `,"token_ids":`...), q.Actions[action])
			}
			action++
		}
		x.messages = append(x.messages, '}')
	}
	if len(q.Actions) > action {
		return nil, rl.Errorf(rl.Invalid, s.server.At, "the request has token ids of %d actions and %d assistant messages", len(q.Actions), action)
	}
	return x, nil
}

type exchangeKey struct{}

func (x *exchange) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// doer is go-openai's HTTP client: it adds the extension to a request and takes it from the reply.
type doer struct{ endpoint.Server }

// Do sends r.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	x, chat := r.Context().Value(exchangeKey{}).(*exchange)
	if !chat {
		return d.Server.Do(r)
	}
	b, err := endpoint.ReadAll(r.Body, r.ContentLength)
	if err != nil {
		return nil, err
	}
	b = amend(b, x.top, x.messages)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	res, body, err := d.Reply(r)
	if err != nil {
		return nil, err
	}
	if known, r, ok := quickReply(body); ok {
		x.reply, x.quick = known, &r
		body = nothing
	} else if err := json.Unmarshal(body, &x.reply); err != nil {
		return nil, err
	} else {
		body = x.reply.plain()
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// nothing is a reply for go-openai to read when there is none left to read.
var nothing = []byte("{}")

// amend puts top into a request as go-openai marshals it, and messages where it has none. No string of the JSON can
// contain an unescaped quote, so the first ,"messages":[ is the key.
func amend(body, top, messages []byte) []byte {
	const key = `,"messages":[`
	at := bytes.Index(body, []byte(key)) + len(key)
	out := make([]byte, 0, len(body)+len(top)+len(messages)+1)
	out = append(append(append(out, '{'), top...), ',')
	out = append(append(out, body[1:at]...), messages...)
	return append(out, body[at:]...)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// plain is the part of the reply that go-openai reads.
func (x *extended) plain() []byte {
	b := append(append([]byte(`{"model":`), orNull(x.Model)...), `,"choices":[`...)
	if len(x.Choices) > 0 {
		c := &x.Choices[0]
		b = append(append(b, `{"finish_reason":`...), orNull(c.Finish)...)
		b = append(append(b, `,"message":`...), orNull(stringArguments(c.Message))...)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
