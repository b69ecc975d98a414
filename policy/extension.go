package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// maxReply bounds a response body, in bytes.
const maxReply = 16 << 20

// exchange is one call's part of the wire that go-openai does not carry.
type exchange struct {
	top      []byte   // members for the request object
	messages [][]byte // members for each of its messages
	reply    extended
}

// extended is a reply with what go-openai's types lack, in the words of vLLM (prompt ids at the top for chat, in the
// choice for completions), llama.cpp (an id in each logprob) and SGLang (response_token_ids).
type extended struct {
	Model   json.RawMessage `json:"model"`
	Prompt  []int32         `json:"prompt_token_ids"`
	Choices []struct {
		Prompt   []int32 `json:"prompt_token_ids"`
		Tokens   []int32 `json:"token_ids"`
		Response []int32 `json:"response_token_ids"`
		LogProbs struct {
			Content []struct {
				ID      *int32   `json:"id"`
				LogProb *float32 `json:"logprob"`
			} `json:"content"`
		} `json:"logprobs"`
		Message json.RawMessage `json:"message"`
		Finish  json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
}

// exchange prepares the extension of q: token ids asked for, a temperature even when it is 0 (go-openai leaves that
// out, and servers then sample at 1), max_tokens (which go-openai has replaced by a name that not every server
// knows), tools that need no marshalling, content even when it is empty, and spliced past actions.
func (c *Client) exchange(q Request) (*exchange, error) {
	x := &exchange{messages: make([][]byte, len(q.Messages))}
	x.top = strconv.AppendFloat([]byte(`"temperature":`), q.Temperature, 'g', -1, 64)
	if q.MaxTokens > 0 {
		x.top = strconv.AppendInt(append(x.top, `,"max_tokens":`...), int64(q.MaxTokens), 10)
	}
	if !c.plain.Load() {
		x.top = append(x.top, `,"return_token_ids":true`...)
	}
	if len(q.Tools) > 0 {
		tools, err := c.renderTools(q.Tools)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, c.at, "the tools cannot be sent: %w", err)
		}
		x.top = append(append(x.top, `,"tools":`...), tools...)
	}
	action := 0
	for i, m := range q.Messages {
		if m.Content == "" && len(m.ToolCalls) == 0 {
			x.messages[i] = append(x.messages[i], `"content":""`...)
		}
		if m.Role != rl.Assistant {
			continue
		}
		if c.splice && action < len(q.Actions) && q.Actions[action] != nil {
			if x.messages[i] != nil {
				x.messages[i] = append(x.messages[i], ',')
			}
			x.messages[i] = appendIDs(append(x.messages[i], `"token_ids":`...), q.Actions[action])
		}
		action++
	}
	if len(q.Actions) > action {
		return nil, rl.Errorf(rl.Invalid, c.at, "the request has token ids of %d actions and %d assistant messages", len(q.Actions), action)
	}
	return x, nil
}

type exchangeKey struct{}

func (x *exchange) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// doer is go-openai's HTTP client: it adds the extension to a request and takes it from the reply, bounds the
// reply, and turns every other status than 2xx into an *rl.Error. It follows no redirects.
type doer struct {
	transport  http.RoundTripper
	at, secret string
}

// Do sends r.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	x, chat := r.Context().Value(exchangeKey{}).(*exchange)
	if chat {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		b = amend(b, x.top, x.messages)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	}
	res, err := d.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err != nil {
		return nil, fmt.Errorf("half a reply: %w", err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, d.statusError(res.StatusCode, res.Header, body)
	}
	if len(body) > maxReply {
		return nil, rl.Errorf(rl.Invalid, d.at, "the reply is larger than %d bytes", maxReply)
	}
	if chat {
		if err := json.Unmarshal(body, &x.reply); err != nil {
			return nil, err
		}
		body = x.reply.plain()
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// amend inserts members into a request as go-openai marshals it: top into the object, messages[i] into its i-th
// message. No string of the JSON can contain an unescaped quote, so the first ,"messages":[ is the key.
func amend(body, top []byte, messages [][]byte) []byte {
	const key = `,"messages":[`
	at := bytes.Index(body, []byte(key)) + len(key)
	out := make([]byte, 0, len(body)+len(top)+len(messages)*64)
	out = append(append(append(out, '{'), top...), ',')
	out = append(out, body[1:at]...)
	depth, quoted, next := 0, false, 0
	for i := at; i < len(body); i++ {
		switch ch := body[i]; {
		case quoted && ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			if depth--; depth == 0 && next < len(messages) {
				out = append(out, body[at:i]...)
				if at = i; len(messages[next]) > 0 {
					out = append(append(out, ','), messages[next]...)
				}
				next++
			}
			if depth < 0 { // the end of the messages
				return append(out, body[at:]...)
			}
		}
	}
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
