package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

const embeddedReply = `{"id":"chatcmpl-1","object":"chat.completion","created":0,"model":"run@000001","prompt_token_ids":[256,257],"choices":[{"index":0,` +
	`"message":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1_0","type":"function","function":{"name":"find_order","arguments":"{\"order\":\"48\"}"}}]},` +
	`"token_ids":[273,260],"logprobs":{"content":[{"token":"find ","bytes":[102],"top_logprobs":[],"logprob":-0.25},{"token":"\ufffd","bytes":[],"top_logprobs":[],"logprob":-1e-05}]},` +
	`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4}}`

// slowly reads a reply as one that quickReply leaves.
func slowly(body []byte) (Response, error) {
	var x extended
	if err := json.Unmarshal(body, &x); err != nil {
		return Response{}, err
	}
	var r openai.ChatCompletionResponse
	if err := json.Unmarshal(x.plain(), &r); err != nil {
		return Response{}, err
	}
	return new(server).reply(question("m"), r, &x)
}

func sameSlowly(t *testing.T, body []byte) (quickly bool) {
	t.Helper()
	x, r, ok := quickReply(body)
	if !ok {
		return false
	}
	got, err := new(server).reply(question("m"), r, &x)
	want, slow := slowly(body)
	if (err == nil) != (slow == nil) || err != nil && err.Error() != slow.Error() || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\nquickly %+v %v\nslowly  %+v %v", body, got, err, want, slow)
	}
	return true
}

func TestQuickReply(t *testing.T) {
	if !sameSlowly(t, []byte(embeddedReply)) {
		t.Error("the embedded server's reply is not read quickly")
	}
	for _, change := range [][2]string{
		{`"content":null,`, `"content":"a\n\u003cé",`}, {`{"content":[{"token"`, `{"content":[],"x":[{"token"`}, {`"usage"`, `"Usage"`}, {`[256,257]`, `null`},
		{`[256,257]`, `[-1]`}, {`[273,260]`, `[]`}, {`[273,260]`, `[1.5]`}, {`-0.25`, `1e999`}, {`-0.25`, `0.5`}, {`"logprob":-0.25`, `"bytes":[]`}, {`"index":0,"id"`, `"index":0,"index":1,"id"`},
		{`"{\"order\":\"48\"}"`, `{"order":"48"}`}, {`"{\"order\":\"48\"}"`, `null`}, {`"tool_calls"}]`, `null}]`}, {`"tool_calls"}]`, `"stop"},{}]`}, {`}}`, `}}x`},
	} {
		if text := strings.Replace(embeddedReply, change[0], change[1], 1); text == embeddedReply {
			t.Error(change[0], "is not there")
		} else {
			sameSlowly(t, []byte(text))
		}
	}
	if sameSlowly(t, []byte(strings.Replace(embeddedReply, `"logprob":-0.25`, `"logprob":null`, 1))) {
		t.Error("null is no number")
	}
}

func FuzzQuickReply(f *testing.F) {
	f.Add([]byte(embeddedReply))
	f.Add([]byte(`{"choices":[{"message":{"content":"x"},"logprobs":null}]}`))
	f.Add([]byte(`{"choices":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) { sameSlowly(t, body) })
}

// Messages are what go-openai makes of them.
func TestMessagesAsGoOpenAI(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "x", `{"order":"48"}`, "a<b>&\u2028\x7f\xff\\\"\n"}))
	rapid.Check(t, func(t *rapid.T) {
		m := rl.Message{Role: rl.Assistant, Content: text.Draw(t, "content"), ToolCallID: text.Draw(t, "id")}
		same := openai.ChatCompletionMessage{Role: "assistant", Content: m.Content, ToolCallID: m.ToolCallID}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			call := rl.ToolCall{ID: text.Draw(t, "call"), Name: "n" + text.Draw(t, "name"), Arguments: json.RawMessage("{" + text.Draw(t, "arguments"))}
			m.ToolCalls = append(m.ToolCalls, call)
			same.ToolCalls = append(same.ToolCalls, openai.ToolCall{ID: call.ID, Type: "function", Function: openai.FunctionCall{Name: call.Name, Arguments: string(call.Arguments)}})
		}
		want, err := json.Marshal(same)
		if err != nil {
			t.Fatal(err)
		}
		if m.Content == "" && m.ToolCalls == nil {
			want = bytes.Replace(want, []byte(`"assistant"`), []byte(`"assistant","content":""`), 1)
		}
		if got := append(appendMessage(nil, m), '}'); !bytes.Equal(got, want) {
			t.Fatalf("%s\nwant %s", got, want)
		}
	})
}
