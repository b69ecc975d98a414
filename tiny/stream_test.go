package tiny

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

func stock(url string) *openai.Client {
	cfg := openai.DefaultConfig("any")
	cfg.BaseURL = url + "/v1"
	return openai.NewClientWithConfig(cfg)
}

// talker is a model that always says the same line when asked greedily, whatever the prompt.
func talker(t testing.TB, line string) *nn.Model {
	t.Helper()
	m := smallModel(3)
	trainer := nn.NewTrainer(m, 1)
	trainer.LearningRate = 3e-3
	tools := []rl.Tool{}
	row := EncodeDemonstration(rl.Demonstration{Imitate: []bool{false, true},
		Messages: []rl.Message{{Role: rl.User, Content: "where is order 48?"}, {Role: rl.Assistant, Content: line}}}, tools)
	for range 60 {
		if _, err := trainer.Update([]*nn.Example{row}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// An answer ends with the token that completes a stop word: the text before it, and no token after it.
func TestStopWords(t *testing.T) {
	m := talker(t, "find 48 now")
	s := NewServer(func(context.Context, rl.Version) (*nn.Model, error) { return m, nil }, 1)
	defer s.Close()
	for stop, want := range map[string]string{
		`[]`:           `find 48 now/find 48 now stop`,
		`["8 n"]`:      `find 4/find 48 n stop`,
		`" "`:          `find/find  stop`,
		`["now","48"]`: `find /find 48 stop`,
		`["49"]`:       `find 48 now/find 48 now stop`,
	} {
		code, body := post(s, `{"model":"a@1","temperature":0,"return_token_ids":true,"logprobs":true,"stop":`+stop+`,"messages":[{"role":"user","content":"where is order 48?"}]}`)
		var a struct {
			Choices []struct {
				Message  struct{ Content string }
				Tokens   []int32 `json:"token_ids"`
				LogProbs struct{ Content []any }
				Finish   string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(body), &a); code != 200 || err != nil || len(a.Choices) != 1 {
			t.Fatalf("%d %s", code, body)
		}
		c := a.Choices[0]
		if got := c.Message.Content + "/" + text(c.Tokens) + " " + c.Finish; got != want || len(c.LogProbs.Content) != len(c.Tokens) {
			t.Errorf("%s: %s, %d log-probabilities", stop, got, len(c.LogProbs.Content))
		}
	}
}

// A stock OpenAI client gets tool calls and text, at once and streamed, and the two agree.
func TestStockClient(t *testing.T) {
	lines := map[rl.Version]*nn.Model{"say@000001": talker(t, "find 48"), "say@000002": talker(t, "Æ é"), "say@000003": talker(t, "hm\nfind 48")}
	s := NewServer(func(_ context.Context, v rl.Version) (*nn.Model, error) { return lines[v], nil }, 1)
	defer s.Close()
	srv := httptest.NewServer(s)
	defer srv.Close()
	for _, c := range []struct {
		model, content, call string
		tools                bool
		most                 int
		finish               openai.FinishReason
	}{
		{"say@000001", "", `find_order {"order":"48"}`, true, 0, "tool_calls"},
		{"say@000001", "find 48", "", false, 0, "stop"},
		{"say@000001", "", `find_order {}`, true, 1, "length"},
		{"say@000002", "Æ é", "", true, 0, "stop"},
		{"say@000002", "Æ é", "", false, 0, "stop"},
		{"say@000002", "Æ \uFFFD", "", false, 4, "length"},
		{"say@000003", "hm\nfind 48", "", true, 0, "stop"},
	} {
		q := openai.ChatCompletionRequest{Model: c.model, MaxCompletionTokens: c.most, Temperature: 0.01, LogProbs: true,
			Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "where is order 48?"}}}
		if c.tools {
			q.Tools = []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "find_order",
				Parameters: map[string]any{"type": "object", "properties": map[string]any{"order": map[string]any{"type": "string"}}}}}}
		}
		r, err := stock(srv.URL).CreateChatCompletion(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		m, call := r.Choices[0].Message, ""
		for _, x := range m.ToolCalls {
			call += x.Function.Name + " " + x.Function.Arguments
		}
		if m.Content != c.content || call != c.call || r.Choices[0].FinishReason != c.finish || r.Model != c.model {
			t.Errorf("%+v: %+v", c, r.Choices[0])
		}
		q.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		content, call, finish, tokens, usage := receive(t, srv.URL, q)
		if content != c.content || call != c.call || finish != c.finish || tokens != len(r.Choices[0].LogProbs.Content) || usage != r.Usage {
			t.Errorf("streamed %+v: %q %q %s, %d tokens, %+v", c, content, call, finish, tokens, usage)
		}
	}
}

func receive(t *testing.T, url string, q openai.ChatCompletionRequest) (content, call string, finish openai.FinishReason, tokens int, usage openai.Usage) {
	t.Helper()
	stream, err := stock(url).CreateChatCompletionStream(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			usage = *chunk.Usage
		}
		for _, c := range chunk.Choices {
			content += c.Delta.Content
			finish += c.FinishReason
			for _, x := range c.Delta.ToolCalls {
				call += x.Function.Name + " " + x.Function.Arguments
			}
			if c.Logprobs != nil {
				tokens += len(c.Logprobs.Content)
			}
		}
	}
}

// Token ids of a streamed answer: the prompt's in the first chunk, one in each of the next.
func TestStreamedTokenIDs(t *testing.T) {
	s, _ := serve(t, 1)
	const rest = `"model":"a@1","seed":5,"max_tokens":9,"return_token_ids":true,"logprobs":true,` + hello + `}`
	_, whole := post(s, `{`+rest)
	_, streamed := post(s, `{"stream":true,`+rest)
	want := parse(t, whole)
	var got reply
	events := strings.Split(strings.TrimSpace(streamed), "\n\n")
	for i, e := range events[:len(events)-1] {
		r := parse(t, strings.TrimPrefix(e, "data: "))
		if (r.Prompt != nil) != (i == 0) {
			t.Errorf("chunk %d: %s", i, e)
		}
		got.Prompt = append(got.Prompt, r.Prompt...)
		got.Choices = append(got.Choices, r.Choices...)
	}
	var ids []int32
	var logProbs []float32
	for _, c := range got.Choices {
		ids = append(ids, c.TokenIDs...)
		for _, l := range c.LogProbs.Content {
			logProbs = append(logProbs, l.LogProb)
		}
	}
	if !slices.Equal(got.Prompt, want.Prompt) || !slices.Equal(ids, want.Choices[0].TokenIDs) || len(logProbs) != len(ids) || events[len(events)-1] != "data: [DONE]" {
		t.Errorf("%s\n%s", whole, streamed)
	}
}

// A stream that breaks off says so and does not end like a whole one.
func TestBrokenStream(t *testing.T) {
	s, _ := serve(t, 1)
	srv := httptest.NewServer(s)
	defer srv.Close()
	res, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"a@1","stream":true,"logprobs":true,`+hello+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAtLeast(res.Body, make([]byte, 300), 300); err != nil {
		t.Fatal(err)
	}
	s.queue.close()
	b, err := io.ReadAll(res.Body)
	if whole := strings.Contains(string(b), "[DONE]"); whole == (err != nil) || !whole && !strings.Contains(string(b), `"code":"unavailable"`) {
		t.Errorf("%v: ...%s", err, b[max(0, len(b)-300):])
	}
}
