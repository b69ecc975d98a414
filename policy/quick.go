package policy

import (
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/jsonscan"
)

// The members of a reply as the embedded server writes it, in its order.
var (
	replyMembers    = []string{"id", "object", "created", "model", "prompt_token_ids", "choices", "usage"}
	choiceMembers   = []string{"index", "message", "token_ids", "logprobs", "finish_reason"}
	contentMember   = []string{"content"}
	logProbMembers  = []string{"token", "bytes", "top_logprobs", "logprob"}
	messageMembers  = []string{"role", "content", "tool_calls"}
	callMembers     = []string{"index", "id", "type", "function"}
	functionMembers = []string{"name", "arguments"}
)

// quickReply reads a reply of one choice in the form of the embedded server. ok is false for any other, well formed
// or not: those are encoding/json's and go-openai's, which give the same for this one.
func quickReply(body []byte) (x extended, r openai.ChatCompletionResponse, ok bool) {
	s, seen := jsonscan.New(string(body)), uint64(0)
	for s.Open('{'); s.More('}'); {
		switch s.Member(replyMembers, &seen) {
		case 3:
			r.Model = strings.Clone(s.Text())
		case 4:
			x.Prompt = slices.Clip(s.Int32s())
		case 5:
			s.Open('[')
			if s.More(']') {
				x.Choices, r.Choices = make([]choice, 1), make([]openai.ChatCompletionChoice, 1)
				quickChoice(&s, &x.Choices[0], &r.Choices[0])
			}
			if s.More(']') {
				s.Fail()
			}
		default:
			s.Skip()
		}
	}
	return x, r, s.Done()
}

func quickChoice(s *jsonscan.Scanner, c *choice, r *openai.ChatCompletionChoice) {
	seen := uint64(0)
	for s.Open('{'); s.More('}'); {
		switch s.Member(choiceMembers, &seen) {
		case 1:
			r.Message = quickMessage(s)
		case 2:
			c.Tokens = slices.Clip(s.Int32s())
		case 3:
			if !s.Null() {
				quickLogProbs(s, c)
			}
		case 4:
			r.FinishReason = openai.FinishReason(strings.Clone(s.Text()))
		default:
			s.Skip()
		}
	}
}

func quickLogProbs(s *jsonscan.Scanner, c *choice) {
	s.Open('{')
	if content := uint64(0); !s.More('}') || s.Member(contentMember, &content) != 0 {
		s.Fail()
	}
	all := make([]logProb, 0, 16)
	for s.Open('['); s.More(']'); {
		var l logProb
		seen := uint64(0)
		for s.Open('{'); s.More('}'); {
			if s.Member(logProbMembers, &seen) != 3 {
				s.Skip()
				continue
			}
			v := float32(s.Float(32))
			l.LogProb = &v
		}
		all = append(all, l)
	}
	c.LogProbs.Content = all
	if s.More('}') {
		s.Fail()
	}
}

// quickMessage copies what it reads: a message lives longer than its reply.
func quickMessage(s *jsonscan.Scanner) (m openai.ChatCompletionMessage) {
	seen := uint64(0)
	for s.Open('{'); s.More('}'); {
		switch s.Member(messageMembers, &seen) {
		case 0:
			m.Role = strings.Clone(s.Text())
		case 1:
			if !s.Null() {
				m.Content = strings.Clone(s.Text())
			}
		case 2:
			m.ToolCalls = make([]openai.ToolCall, 0, 1)
			for s.Open('['); s.More(']'); {
				m.ToolCalls = append(m.ToolCalls, quickCall(s))
			}
		}
	}
	return m
}

func quickCall(s *jsonscan.Scanner) (call openai.ToolCall) {
	seen := uint64(0)
	for s.Open('{'); s.More('}'); {
		switch s.Member(callMembers, &seen) {
		case 0:
			i := int(s.Int(64))
			call.Index = &i
		case 1:
			call.ID = strings.Clone(s.Text())
		case 2:
			call.Type = openai.ToolType(strings.Clone(s.Text()))
		case 3:
			function := uint64(0)
			for s.Open('{'); s.More('}'); {
				switch s.Member(functionMembers, &function) {
				case 0:
					call.Function.Name = strings.Clone(s.Text())
				case 1:
					call.Function.Arguments = strings.Clone(s.Text())
				}
			}
		}
	}
	return call
}
