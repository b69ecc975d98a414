package reward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Client asks a judge over HTTP: any server of the OpenAI API. It is safe for concurrent use.
type Client struct {
	api     *openai.Client
	server  endpoint.Server
	timeout time.Duration
	slots   chan struct{} // one element a call under way
	usdIn   float64       // a million tokens
	usdOut  float64
	plain   atomic.Bool // the server knows no JSON schemas: the prompt alone says what is wanted
}

// NewClient makes a client of a judge; transport nil: the network. It connects to nothing.
func NewClient(c rl.RewardConfig, key string, transport http.RoundTripper) *Client {
	return NewClientOf("judge", c, key, transport)
}

// NewClientOf makes a client of a model with another office: what it is begins the errors' boundary, "judge http://...".
func NewClientOf(what string, c rl.RewardConfig, key string, transport http.RoundTripper) *Client {
	n := max(c.Concurrency, 1)
	if transport == nil {
		transport = endpoint.Network(n)
	}
	j := &Client{
		server: endpoint.Server{Transport: transport, At: endpoint.At(what, c.URL), Secret: key}, timeout: time.Duration(c.Timeout),
		slots: make(chan struct{}, n), usdIn: c.USDIn, usdOut: c.USDOut,
	}
	cfg := openai.DefaultConfig(key)
	cfg.BaseURL = c.URL
	cfg.HTTPClient = doer{j.server}
	j.api = openai.NewClientWithConfig(cfg)
	return j
}

// Most is the most that a question can cost, in USD: a token of the prompt for each byte of its messages and of the reply's schema, and
// some that the model's template puts around each message, the reply at full length. English has four bytes a token, but a limit
// must hold for digits and for other scripts, too.
func (j *Client) Most(q Question) float64 {
	tokens := len(schema(q))
	for _, m := range q.Messages {
		tokens += len(m.Content) + templateTokens
	}
	return j.usd(tokens, q.MaxTokens)
}

// templateTokens is more than what a template puts around a message.
const templateTokens = 16

// usd is the price of so many tokens.
func (j *Client) usd(prompt, reply int) float64 {
	return (float64(float64(prompt)*j.usdIn) + float64(float64(reply)*j.usdOut)) / 1e6
}

type callKey struct{}

// call is one call's part of the wire that go-openai does not carry: its own key, so that a server or a proxy that keeps answers
// by key does the work of a call once, even when it is sent again because its answer was lost; and its temperature even when
// that is 0. go-openai leaves 0 out, servers then take 1, and a number so small that it stands for 0 overflows in llama.cpp,
// whose choice is no longer the most likely token.
type call struct {
	key         string
	temperature float64
}

// doer is go-openai's HTTP client.
type doer struct{ endpoint.Server }

// Do sends r, with what its call adds.
func (d doer) Do(r *http.Request) (*http.Response, error) {
	c, ok := r.Context().Value(callKey{}).(call)
	if !ok {
		return d.Server.Do(r)
	}
	b, err := endpoint.ReadAll(r.Body, r.ContentLength)
	if err != nil {
		return nil, err
	}
	b = append(fmt.Appendf(nil, `{"temperature":%v,`, c.temperature), b[1:]...)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	r.GetBody = nil // else net/http sends a request with the next header again by itself when a connection breaks
	r.Header.Set("Idempotency-Key", c.key)
	return d.Server.Do(r)
}

// Acquire takes one of the reward.concurrency places of calls under way, and waits for it. The error is the context's.
func (j *Client) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case j.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-j.slots }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Ask asks once, for reward.timeout at most; key names the call (see Idempotency-Key). The caller has acquired a place.
func (j *Client) Ask(ctx context.Context, key string, q Question) (Reply, error) {
	ctx = context.WithValue(ctx, callKey{}, call{key, q.Temperature})
	if j.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.timeout)
		defer cancel()
	}
	plain := j.plain.Load()
	r, err := j.api.CreateChatCompletion(ctx, request(q, plain))
	if err != nil && !plain && refusesSchema(err) {
		j.plain.Store(true)
		ctx = context.WithValue(ctx, callKey{}, call{key + "-plain", q.Temperature}) // a key stands for one body
		r, err = j.api.CreateChatCompletion(ctx, request(q, true))
	}
	if err == nil && len(r.Choices) == 0 {
		err = j.server.Nonsense(errors.New("it has no choices"))
	}
	if err != nil {
		return Reply{}, j.server.Failure(err)
	}
	c := r.Choices[0]
	out := Reply{Text: strings.ToValidUTF8(j.server.Hide(text(c.Message)), "\uFFFD"), Finish: string(c.FinishReason), Model: r.Model, Spent: rl.Spent{
		Calls: 1, PromptTokens: max(r.Usage.PromptTokens, 0), ReplyTokens: max(r.Usage.CompletionTokens, 0)}}
	if out.Text == "" && c.Message.Refusal != "" {
		out.Text = "(the judge refuses: " + j.server.Hide(c.Message.Refusal) + ")"
	}
	out.Spent.USD = j.usd(out.Spent.PromptTokens, out.Spent.ReplyTokens)
	if out.Spent.PromptTokens == 0 && out.Spent.ReplyTokens == 0 {
		out.Spent.USD = j.Most(q) // a server that counts nothing still bills
	}
	return out, nil
}

// text is what a message says, where that is given in parts, too.
func text(m openai.ChatCompletionMessage) string {
	said := m.Content
	for _, part := range m.MultiContent {
		if part.Type == openai.ChatMessagePartTypeText {
			said += part.Text
		}
	}
	return said
}

// Models asks the server which models it has, which costs nothing. There is at least one. Errors as Ask.
func (j *Client) Models(ctx context.Context) (names []string, err error) {
	list, err := j.api.ListModels(ctx)
	if err != nil {
		return nil, j.server.Failure(err)
	}
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	if len(names) == 0 {
		return nil, rl.Errorf(rl.NotFound, j.server.At, "it lists no models")
	}
	return names, nil
}

// refusesSchema knows a server that does not take response_format: vLLM's, llama.cpp's and OpenAI's older models' words name it.
func refusesSchema(err error) bool {
	words := strings.ToLower(err.Error())
	return rl.KindOf(err) == rl.Refused && (strings.Contains(words, "response_format") || strings.Contains(words, "json_schema") || strings.Contains(words, "guided"))
}

func request(q Question, plain bool) openai.ChatCompletionRequest {
	seed := int(q.Seed)
	r := openai.ChatCompletionRequest{Model: q.Model, MaxCompletionTokens: q.MaxTokens, Seed: &seed}
	for _, m := range q.Messages {
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content})
	}
	if !plain {
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema, JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
			Name: "scores", Strict: true, Schema: schema(q),
		}}
	}
	return r
}

// schema is the form of a reply. Bounds of numbers and lengths of lists are left out: some servers refuse them and others do not hold
// to them. verdicts checks all.
func schema(q Question) json.RawMessage {
	if q.Form != nil {
		return q.Form
	}
	unit := map[string]any{"type": "number"}
	entry := map[string]any{
		"id": map[string]any{"type": "string", "enum": q.IDs}, "reason": map[string]any{"type": "string"}, "score": unit,
	}
	required := []string{"id", "reason", "score"}
	if q.PerTurn {
		entry["turns"] = map[string]any{"type": "array", "items": unit}
		required = append(required, "turns")
	}
	object := func(properties map[string]any, required []string) map[string]any {
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	list := map[string]any{"type": "array", "items": object(entry, required)}
	return rl.CanonicalJSON(object(map[string]any{"scores": list}, []string{"scores"}))
}
