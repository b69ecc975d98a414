package tiny

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// answer is a chat request with what it takes to answer it.
type answer struct {
	wireRequest
	id  string
	box toolbox // nil: no tool calls are looked for
	job *job
}

// json is the whole reply, once the job is done. It is written by hand: this is the path that every turn takes.
func (a *answer) json() []byte {
	j := a.job
	b := make([]byte, 0, 1024+8*len(j.prompt)+160*len(j.out))
	b = a.appendHead(b, "chat.completion")
	if a.ReturnTokenIDs {
		b = appendIDs(append(b, `,"prompt_token_ids":`...), j.prompt)
	}
	m := a.message()
	b = append(b, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	if m.ToolCalls == nil {
		b = append(b, quoted(m.Content)...)
	} else {
		b = a.appendCalls(append(b, "null,"...), m.ToolCalls)
	}
	b = append(b, '}')
	if a.ReturnTokenIDs {
		b = appendIDs(append(b, `,"token_ids":`...), j.out)
	}
	b = a.appendLogProbs(b, j.out, j.logProbs)
	b = append(append(b, `,"finish_reason":`...), quoted(a.finishReason(m))...)
	b = append(b, "}]"...)
	return append(a.appendUsage(b), '}')
}

// message is what was sampled, up to where a stop word begins.
func (a *answer) message() rl.Message {
	content := text(a.job.out)
	if at := a.Stop.in(content); at >= 0 {
		content = content[:at]
	}
	return a.box.read(content)
}

// appendHead writes the members that every object of an answer begins with, and leaves the object open.
func (a *answer) appendHead(b []byte, object string) []byte {
	b = append(append(b, `{"id":"chatcmpl-`...), a.id...)
	b = append(append(b, `","object":"`...), object...)
	b = append(b, `","created":0,"model":`...)
	return append(b, quoted(a.Model)...)
}

func (a *answer) finishReason(m rl.Message) string {
	switch out := a.job.out; {
	case out[len(out)-1] != tokenEnd && !a.job.stopped:
		return "length"
	case m.ToolCalls != nil:
		return "tool_calls"
	}
	return "stop"
}

// appendCalls writes "tool_calls". Ids are the request's and the call's number: the same request, the same ids.
func (a *answer) appendCalls(b []byte, calls []rl.ToolCall) []byte {
	b = append(b, `"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"index":%d,"id":"call_%s_%d","type":"function","function":{"name":%s,"arguments":%s}}`,
			i, a.id, i, quoted(c.Name), quoted(string(c.Arguments)))
	}
	return append(b, ']')
}

func (a *answer) appendLogProbs(b []byte, ids []int32, logProbs []float32) []byte {
	if !a.LogProbs {
		return append(b, `,"logprobs":null`...)
	}
	b = append(b, `,"logprobs":{"content":[`...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, tokenJSON[id]...)
		b = append(strconv.AppendFloat(b, float64(logProbs[i]), 'g', -1, 32), '}')
	}
	return append(b, "]}"...)
}

func (a *answer) appendUsage(b []byte) []byte {
	in, out := len(a.job.prompt), len(a.job.out)
	return fmt.Appendf(b, `,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, out, in+out)
}

// tokenJSON is each token's part of "logprobs", up to its number.
var tokenJSON = func() (all [Vocab][]byte) {
	for id := range all {
		t := text([]int32{int32(id)})
		if id >= tokenBegin && id < firstPiece {
			t = specials[id-tokenBegin]
		}
		numbers := []int{}
		for i := range len(t) {
			numbers = append(numbers, int(t[i]))
		}
		spelt, err := json.Marshal(numbers)
		if err != nil {
			panic(err) // numbers
		}
		all[id] = fmt.Appendf(nil, `{"token":%s,"bytes":%s,"top_logprobs":[],"logprob":`, quoted(t), spelt)
	}
	return all
}()

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
