package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/rl"
)

// reply reads an answer: the message from go-openai, ids and log-probabilities from x.
func (s *server) reply(q Request, r openai.ChatCompletionResponse, x *extended) (Response, error) {
	if len(r.Choices) == 0 {
		return Response{}, s.server.Nonsense(errors.New("it has no choices"))
	}
	if _, _, err := rl.Version(q.Model).Parse(); err == nil && r.Model == "" {
		return Response{}, s.server.Nonsense(fmt.Errorf("it does not say which model answered, where %s was asked for", q.Model))
	}
	out := Response{Finish: string(r.Choices[0].FinishReason), Model: r.Model}
	if err := out.takeTokens(x); err != nil {
		return Response{}, s.server.Nonsense(err)
	}
	if err := s.trainable(q, out); err != nil {
		return Response{}, err
	}
	m := r.Choices[0].Message
	out.Message = rl.Message{Role: rl.Assistant, Content: m.Content}
	for _, part := range m.MultiContent {
		out.Message.Content += part.Text
	}
	for i, call := range m.ToolCalls {
		out.Message.ToolCalls = append(out.Message.ToolCalls, toolCall(i, call.ID, call.Function.Name, call.Function.Arguments))
	}
	if len(q.Tools) > 0 && len(m.ToolCalls) == 0 {
		out.Message.Content, out.Message.ToolCalls = textCalls(out.Message.Content)
	}
	return out, nil
}

// ErrUntrainable says that a server does not give what training needs of an answer.
var ErrUntrainable = errors.New("it cannot be trained on")

// trainable checks an answer that is to be trained on. A server that gave all that is needed before is asked again; one
// that never did is refused, since no answer of it will.
func (s *server) trainable(q Request, r Response) error {
	lacks := ""
	switch {
	case r.Tokens == nil, r.Prompt == nil:
		lacks = "token ids: vLLM gives prompt_token_ids and token_ids from 0.10.2 on, SGLang in the versions that know return_token_ids; " +
			"a server without them can be evaluated (updates: 0)"
	case r.LogProbs == nil:
		lacks = "log-probabilities: they are asked for with logprobs: true; vLLM must not be started with --max-logprobs 0"
	default:
		s.gives.Store(true)
		return nil
	}
	if !q.Training {
		return nil
	}
	err := fmt.Errorf("the answer has no %s: %w", lacks, ErrUntrainable)
	if s.gives.Load() {
		return s.server.Nonsense(err)
	}
	return rl.Errorf(rl.Refused, s.server.At, "%w", err)
}

// takeTokens finds ids and log-probabilities wherever the server put them, and checks that they agree.
func (out *Response) takeTokens(x *extended) error {
	c := &x.Choices[0]
	content := c.LogProbs.Content
	tokens := c.Tokens
	if tokens == nil {
		tokens = c.Response
	}
	if tokens == nil {
		for _, l := range content {
			if l.ID != nil {
				tokens = append(tokens, *l.ID)
			}
		}
	}
	if tokens == nil {
		return nil // nothing to train on; the prompt's ids alone are of no use
	}
	out.Tokens, out.Prompt = tokens, x.Prompt
	if out.Prompt == nil {
		out.Prompt = c.Prompt
	}
	for _, ids := range [][]int32{out.Prompt, out.Tokens} {
		for i, id := range ids {
			if id < 0 {
				return fmt.Errorf("token id %d at %d is negative", id, i)
			}
		}
	}
	if content == nil {
		return nil
	}
	if len(content) != len(tokens) {
		return fmt.Errorf("%d sampled token ids, %d log-probabilities", len(tokens), len(content))
	}
	out.LogProbs = make([]float32, len(content))
	for i, l := range content {
		if l.LogProb == nil {
			return fmt.Errorf("token %d of %d has no log-probability", i, len(content))
		}
		// vLLM writes -9999 for minus infinity; what has no probability was not sampled.
		if out.LogProbs[i] = *l.LogProb; *l.LogProb > 1e-3 || math.Exp(float64(*l.LogProb)) == 0 {
			return fmt.Errorf("token %d of %d has %g, which is no log-probability", i, len(content), *l.LogProb)
		}
	}
	return nil
}

// toolCall reads one call. arguments is JSON, out of the JSON string that it is on the wire; it is not decoded a second
// time: a string in a string stays a string, which no tool takes.
//
// Arguments are kept in the form that encoding/json writes (compact, digits as they came), so that a call that was
// stored and read again is the same bytes.
func toolCall(i int, id, name, arguments string) rl.ToolCall {
	call := rl.ToolCall{ID: id, Name: name}
	if id == "" {
		call.ID = fmt.Sprintf("call_%d", i)
	}
	arguments = strings.TrimSpace(arguments)
	if arguments == "" || arguments == "null" {
		arguments = "{}" // a tool without parameters, called without arguments
	}
	var compact, escaped bytes.Buffer
	if err := json.Compact(&compact, []byte(strings.ToValidUTF8(arguments, "\uFFFD"))); err != nil {
		call.Invalid = "the arguments are not valid JSON: " + err.Error() // which quotes one character at most
		return call
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	switch call.Arguments = escaped.Bytes(); {
	case call.Arguments[0] != '{':
		call.Invalid = "the arguments must be a JSON object, not " + kindOf(call.Arguments[0])
	case name == "":
		call.Invalid = "the call names no tool"
	}
	return call
}

func kindOf(first byte) string {
	switch first {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
