package tiny

import (
	"github.com/longhaul-rl/longhaul/jsonscan"
)

// The members of a request that the policy client sends, in its order.
var (
	requestMembers  = []string{"temperature", "max_tokens", "return_token_ids", "tools", "model", "messages", "stream", "seed", "logprobs"}
	messageMembers  = []string{"role", "content", "tool_call_id", "tool_calls", "token_ids"}
	callMembers     = []string{"id", "type", "function"}
	functionMembers = []string{"name", "arguments"}
)

// quickRequest reads a request of the form that the policy client writes, with tools that were read before. ok is
// false for any other, well formed or not: decodeRequest is for those, and gives the same for this one.
func (b *boxes) quickRequest(body []byte) (q wireRequest, ok bool) {
	s, seen := jsonscan.New(string(body)), uint64(0)
	q = newWireRequest()
	for s.Open('{'); s.More('}'); {
		switch s.Member(requestMembers, &seen) {
		case 0:
			q.Temperature = s.Float(64)
		case 1:
			most := int(s.Int(64))
			q.MaxTokens = &most
		case 2:
			q.ReturnTokenIDs = s.Bool()
		case 3:
			q.Tools = b.known(&s)
		case 4:
			q.Model = s.Text()
		case 5:
			q.Messages = quickMessages(&s)
		case 6:
			q.Stream = s.Bool()
		case 7:
			q.Seed = s.Int(64)
		case 8:
			q.LogProbs = s.Bool()
		}
	}
	return q, s.Done()
}

func quickMessages(s *jsonscan.Scanner) []wireMessage {
	all := make([]wireMessage, 0, 16)
	for s.Open('['); s.More(']'); {
		var m wireMessage
		seen := uint64(0)
		for s.Open('{'); s.More('}'); {
			switch s.Member(messageMembers, &seen) {
			case 0:
				m.Role = s.Text()
			case 1:
				m.Content = wireContent(s.Text())
			case 2:
				s.Skip()
			case 3:
				m.ToolCalls = quickCalls(s)
			case 4:
				m.TokenIDs = s.Int32s()
			}
		}
		all = append(all, m)
	}
	return all
}

func quickCalls(s *jsonscan.Scanner) []wireCall {
	all := make([]wireCall, 0, 1)
	for s.Open('['); s.More(']'); {
		var c wireCall
		seen := uint64(0)
		for s.Open('{'); s.More('}'); {
			if s.Member(callMembers, &seen) < 2 {
				s.Skip()
				continue
			}
			function := uint64(0)
			for s.Open('{'); s.More('}'); {
				switch s.Member(functionMembers, &function) {
				case 0:
					c.Function.Name = s.Text()
				case 1:
					c.Function.Arguments = wireContent(s.Text())
				}
			}
		}
		all = append(all, c)
	}
	return all
}
