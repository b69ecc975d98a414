package tiny

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

func smallModel(seed int64) *nn.Model {
	return nn.New(nn.Config{V: Vocab, D: 32, L: 2, F: 64, Ctx: 256}, seed)
}

// serve is a server whose versions a@0, a@1, ... are small models; there are ten.
func serve(t testing.TB, threads int) (*Server, *atomic.Int64) {
	var loads atomic.Int64
	s := NewServer(func(_ context.Context, v rl.Version) (*nn.Model, error) {
		_, n, err := v.Parse()
		if err != nil {
			return nil, err
		}
		if n > 9 {
			return nil, rl.Errorf(rl.NotFound, "store", "no checkpoint of update %d", n)
		}
		loads.Add(1)
		return smallModel(int64(n)), nil
	}, threads)
	t.Cleanup(s.Close)
	return s, &loads
}

// post is one request without a socket.
func post(h http.Handler, body string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader([]byte(body))))
	return w.Code, w.Body.String()
}

// converse plays turns of a conversation that is fixed by n, and gives the replies as they came.
func converse(t testing.TB, h http.Handler, n, turns int, splice bool) (replies []string) {
	messages := []map[string]any{{"role": "user", "content": fmt.Sprintf("where is order %02d?", n)}}
	for turn := range turns {
		body, err := json.Marshal(map[string]any{
			"model": "a@1", "messages": messages, "seed": n*100 + turn, "max_tokens": 6 + n%5, "temperature": []float64{1, 0, 0.7}[n%3],
			"logprobs": true, "return_token_ids": true, "tools": json.RawMessage(deskTools),
		})
		if err != nil {
			t.Fatal(err)
		}
		code, reply := post(h, string(body))
		if code != 200 {
			t.Errorf("%d %s", code, reply)
			return nil
		}
		replies = append(replies, reply)
		r := parse(t, reply)
		said := map[string]any{"role": "assistant", "content": r.Choices[0].Message.Content, "tool_calls": r.Choices[0].Message.ToolCalls}
		if splice {
			said["token_ids"] = r.Choices[0].TokenIDs
		}
		messages = append(messages, said, map[string]any{"role": "tool", "content": fmt.Sprintf("%02d in box C%d", n, turn)})
	}
	return replies
}

// reply is what tests look at in an answer, or in a chunk of a streamed one.
type reply struct {
	ID      string
	Model   string
	Prompt  []int32 `json:"prompt_token_ids"`
	Choices []struct {
		Message, Delta struct {
			Role, Content string
			ToolCalls     json.RawMessage `json:"tool_calls"`
		}
		TokenIDs []int32 `json:"token_ids"`
		LogProbs struct {
			Content []struct {
				Token   string
				LogProb float32
				Bytes   []int
			}
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	}
	Error struct{ Code, Message, Type, Param string }
}

func parse(t testing.TB, s string) (r reply) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one value: %s", s)
	}
	return r
}
