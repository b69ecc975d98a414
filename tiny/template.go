package tiny

import (
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The chat template. A conversation is
//
//	<|begin|> <|user|>where is order 48?<|end|> <|assistant|>find 48<|end|> <|tool|>48 in box C7<|end|> <|assistant|>
//
// without the spaces. System messages and tool schemas are left out: the policy knows its tools from training. A
// call is a line "find 48" (see toolbox.line), several calls are several lines, text comes before them.

// appendMessage renders one message, with its opening and closing token. A system message is nothing.
func (b toolbox) appendMessage(to []int32, m rl.Message) []int32 {
	switch m.Role {
	case rl.User:
		to = append(to, tokenUser)
	case rl.Assistant:
		to = append(to, tokenAssistant)
	case rl.ToolRole:
		to = append(to, tokenTool)
	default:
		return to
	}
	to = appendText(to, m.Content)
	for i, call := range m.ToolCalls {
		if i > 0 || m.Content != "" {
			to = appendText(to, "\n")
		}
		to = appendText(to, b.line(call))
	}
	return append(to, tokenEnd)
}

// message reads sampled tokens.
func (b toolbox) message(sampled []int32) rl.Message { return b.read(text(sampled)) }

// read reads what was sampled. Text that is calls, line by line, becomes tool calls; any other stays content, which may be no
// valid UTF-8.
func (b toolbox) read(content string) rl.Message {
	m := rl.Message{Role: rl.Assistant, Content: content}
	if len(b) == 0 {
		return m
	}
	var calls []rl.ToolCall
	for line := range strings.SplitSeq(strings.TrimSpace(content), "\n") {
		call, ok := b.call(line)
		if !ok {
			return m
		}
		calls = append(calls, call)
	}
	return rl.Message{Role: rl.Assistant, ToolCalls: calls}
}

// EncodeDemonstration is a conversation to imitate as a training row, rendered as the server renders it. The loss
// is on what the assistant says in the messages marked Imitate, their closing token included. It panics on tools
// whose parameters are no JSON schema of an object.
func EncodeDemonstration(d rl.Demonstration, tools []rl.Tool) *nn.Example {
	box, err := readTools(tools)
	if err != nil {
		panic("tiny: " + err.Error())
	}
	e := &nn.Example{SFT: true, Tokens: []int32{tokenBegin}}
	for i, m := range d.Messages {
		said := len(e.Tokens) + 1 // after the role
		e.Tokens = box.appendMessage(e.Tokens, m)
		for at := len(e.LossMask); at < len(e.Tokens); at++ {
			e.LossMask = append(e.LossMask, m.Role == rl.Assistant && d.Imitate[i] && at >= said)
		}
	}
	return e
}

// Example is a sample as a training row. Tokens are the served ones.
func Example(s rl.Sample) *nn.Example {
	return &nn.Example{Tokens: s.Tokens, LossMask: s.LossMask, LogProbs: s.LogProbs, Advantages: s.Advantages}
}
