package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/rl"
)

// Request asks for one action.
type Request struct {
	Model    string // a policy version, or any model the server knows
	Messages []rl.Message
	// Actions are the sampled token ids of the assistant messages, in order; nil where they are not known. Only a
	// client with Splice sends them.
	Actions     [][]int32
	Tools       []rl.Tool
	Temperature float64 // 0: greedy
	MaxTokens   int     // 0: the server's own limit
	// Stop are words that end the answer: its text ends before the first of them, and what was sampled with the token that
	// completes it.
	Stop []string
	Seed uint64 // at most 63 bits are sent
	// Timeout is how long a server may take, as Within counts it. 0: as long as the context lasts.
	Timeout time.Duration
	// Training asks for an answer that can be trained on: an answer without token ids and log-probabilities is an error.
	Training bool
}

// Response is one action as the server gave it.
type Response struct {
	Message rl.Message // an assistant message; its calls have ids, made up where the server gave none
	Prompt  []int32    // token ids the server was shown; nil when it does not say
	Tokens  []int32    // token ids it sampled; nil when it does not say
	// LogProbs has one natural logarithm per token of Tokens; nil when there are none. Servers give them at the
	// sampling temperature (the embedded one) or at temperature 1 (vLLM without --logprobs-mode
	// processed_logprobs): train at temperature 1 with the latter.
	LogProbs []float32
	Finish   string // finish_reason: stop, tool_calls, length, ...
	Model    string // the model that answered, as the server names it; empty: it does not say
}

// render is the request in go-openai's words. Messages, temperature, max_tokens, tools and token ids are the
// extension's.
func render(q Request) openai.ChatCompletionRequest {
	seed := int(q.Seed &^ (1 << 63))
	return openai.ChatCompletionRequest{Model: q.Model, Seed: &seed, LogProbs: true, Messages: []openai.ChatCompletionMessage{}}
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// renderedTools is tools as they go over the wire. An episode sends the same ones every turn.
type renderedTools struct {
	tools []rl.Tool
	json  []byte
}

// renderTools gives the JSON of tools, from the last request when they are the same.
func (c *Client) renderTools(tools []rl.Tool) ([]byte, error) {
	if last := c.tools.Load(); last != nil && slices.EqualFunc(last.tools, tools, sameTool) {
		return last.json, nil
	}
	wire := make([]openai.Tool, len(tools))
	for i, t := range tools {
		f := &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if len(t.Parameters) == 0 {
			f.Parameters = noParameters
		}
		wire[i] = openai.Tool{Type: openai.ToolTypeFunction, Function: f}
	}
	b, err := json.Marshal(wire)
	if err != nil {
		return nil, err
	}
	c.tools.Store(&renderedTools{slices.Clone(tools), b})
	return b, nil
}

func sameTool(a, b rl.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
