package tiny

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

const hello = `"messages":[{"role":"user","content":"where is order 48?"}]`

func TestFailures(t *testing.T) {
	s, _ := serve(t, 1)
	s.caches.most = 0
	for body, want := range map[string]string{
		`{`:                               `400 invalid_request `,
		`{"model":"a@1"}`:                 `400 invalid_request messages`,
		`{` + hello + `}`:                 `400 invalid_request model`,
		`{"model":"a@77",` + hello + `}`:  `404 model_not_found model`,
		`{"model":"gpt-4",` + hello + `}`: `404 model_not_found model`,
		`{"model":"a@1","messages":[{"role":"narrator"}]}`:                                                     `400 invalid_request messages`,
		`{"model":"a@1","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`:                        `400 invalid_request `,
		`{"model":"a@1","messages":[{"role":"assistant","token_ids":[645]}]}`:                                  `400 invalid_request messages`,
		`{"model":"a@1","messages":[{"role":"assistant","token_ids":[-1]}]}`:                                   `400 invalid_request messages`,
		`{"model":"a@1","tools":[{"type":"function","function":{"name":"f","parameters":[1]}}],` + hello + `}`: `400 invalid_request tools`,
		`{"model":"a@1","tools":[{"type":"web_search"}],` + hello + `}`:                                        `400 invalid_request tools`,
		`{"model":"a@1","n":2,` + hello + `}`:                                                                  `400 invalid_request n`,
		`{"model":"a@1","top_p":0.9,` + hello + `}`:                                                            `400 invalid_request top_p`,
		`{"model":"a@1","stop":["x"],` + hello + `}`:                                                           `400 invalid_request stop`,
		`{"model":"a@1","tool_choice":"required",` + hello + `}`:                                               `400 invalid_request tool_choice`,
		`{"model":"a@1","tool_choice":" ",` + hello + `}`:                                                      `400 invalid_request tool_choice`,
		`{"model":"a@1","temperature":-1,` + hello + `}`:                                                       `400 invalid_request temperature`,
		`{"model":"a@1","temperature":1e-9,` + hello + `}`:                                                     `400 invalid_request temperature`,
		`{"model":"a@1","max_tokens":0,` + hello + `}`:                                                         `400 invalid_request max_tokens`,
		`{"model":"a@1","max_tokens":250,` + hello + `}`:                                                       `400 context_length_exceeded messages`,
		`{"model":"a@1","messages":[{"role":"user","content":"` + strings.Repeat("x", 400) + `"}]}`:            `400 context_length_exceeded messages`,
		`{"model":"` + strings.Repeat("x", maxBody) + `"}`:                                                     `413 request_too_large `,
		`{"model":"a@1","max_tokens":1,"stop":null,"n":1,"tool_choice":"auto","user":"me",` + hello + `}`:      `200  `,
		`{"model":"a@1","max_completion_tokens":249,` + hello + `}`:                                            `200  `,
	} {
		code, answer := post(s, body)
		r := parse(t, answer)
		if got := fmt.Sprintf("%d %s %s", code, r.Error.Code, r.Error.Param); got != want {
			t.Errorf("%.90s: %s (%s), want %s", body, got, r.Error.Message, want)
		}
	}
}

func TestPages(t *testing.T) {
	s, loads := serve(t, 1)
	srv := httptest.NewServer(s)
	defer srv.Close()
	c := stock(srv.URL)
	get := func(path string) (int, string) {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	if code, body := get("/healthz"); code != 200 || body != "ok\n" {
		t.Error(code, body)
	}
	if code, body := get("/v2"); code != 404 || parse(t, body).Error.Code != "not_found" {
		t.Error(code, body)
	}
	if list, err := c.ListModels(t.Context()); err != nil || len(list.Models) != 0 {
		t.Error(list, err)
	}
	if m, err := c.GetModel(t.Context(), "a@3"); err != nil || m.ID != "a@3" || loads.Load() != 1 {
		t.Error(m, err, loads)
	}
	if list, err := c.ListModels(t.Context()); err != nil || len(list.Models) != 1 || list.Models[0].ID != "a@3" {
		t.Error(list, err)
	}
	_, err := c.GetModel(t.Context(), "a@99")
	if e, ok := errors.AsType[*openai.APIError](err); !ok || e.HTTPStatusCode != 404 || e.Code != "model_not_found" {
		t.Error(err)
	}
}

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
		q := openai.ChatCompletionRequest{Model: c.model, MaxTokens: c.most, Temperature: 0.01, LogProbs: true,
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

// A request whose client has gone leaves its place at once, waiting or live.
func TestCancel(t *testing.T) {
	s, _ := serve(t, 1)
	var group sync.WaitGroup
	for range 3 * maxLive {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			r := httptest.NewRequest("POST", "/", strings.NewReader(`{"model":"a@1","temperature":100,`+hello+`}`))
			s.chat(httptest.NewRecorder(), r.WithContext(ctx))
		})
	}
	group.Wait()
	if code, answer := post(s, `{"model":"a@1","max_tokens":3,`+hello+`}`); code != 200 {
		t.Fatal(code, answer)
	}
	for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		s.queue.mu.Lock()
		live, waiting := s.queue.live, len(s.queue.waiting)
		s.queue.mu.Unlock()
		if live == 0 && waiting == 0 && s.requests.Load() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d live, %d waiting", live, waiting)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	s, _ := serve(t, 1)
	s.requests.Store(maxRequests)
	const body = `{"model":"a@1","max_tokens":1,` + hello + `}`
	if code, answer := post(s, body); code != 429 || parse(t, answer).Error.Code != "too_many_requests" {
		t.Error(code, answer)
	}
	s.requests.Store(maxRequests - 1)
	if code, _ := post(s, body); code != 200 || s.requests.Load() != maxRequests-1 {
		t.Error(code, s.requests.Load())
	}
}

func TestClosedServer(t *testing.T) {
	s, _ := serve(t, 2)
	post(s, `{"model":"a@1","max_tokens":1,`+hello+`}`)
	s.Close()
	for _, stream := range []string{"false", "true"} {
		code, answer := post(s, `{"model":"a@1","stream":`+stream+`,`+hello+`}`)
		if code != 503 || parse(t, answer).Error.Code != "unavailable" {
			t.Error(code, answer)
		}
	}
}

// A version is loaded once however many ask for it, four are kept, a failure is not remembered.
func TestVersions(t *testing.T) {
	s, loads := serve(t, 1)
	ask := func(n int) int {
		code, _ := post(s, fmt.Sprintf(`{"model":"a@%d","max_tokens":1,%s}`, n, hello))
		return code
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { ask(0) })
	}
	group.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("loaded %d times", n)
	}
	for _, n := range []int{1, 2, 3, 0, 4, 0, 77, 1} { // 1 was forgotten when 4 came
		ask(n)
	}
	if n := loads.Load(); n != 6 || len(s.versions.loaded()) != keptVersions {
		t.Errorf("loaded %d times, holds %v", n, s.versions.loaded())
	}
	fail := true
	s2 := NewServer(func(context.Context, rl.Version) (*nn.Model, error) {
		if fail {
			return nil, rl.Errorf(rl.Unavailable, "store", "no connection")
		}
		return smallModel(1), nil
	}, 1)
	defer s2.Close()
	const body = `{"model":"a@1","max_tokens":1,` + hello + `}`
	if code, _ := post(s2, body); code != 503 {
		t.Error(code)
	}
	fail = false
	if code, _ := post(s2, body); code != 200 {
		t.Error(code)
	}
}

// One client that waits for a slow load can go; the load goes on for the others.
func TestSlowLoad(t *testing.T) {
	release := make(chan struct{})
	s := NewServer(func(ctx context.Context, _ rl.Version) (*nn.Model, error) {
		<-release
		return smallModel(1), ctx.Err()
	}, 1)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.versions.get(ctx, "a@1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(release)
	if code, answer := post(s, `{"model":"a@1","max_tokens":1,`+hello+`}`); code != 200 {
		t.Fatal(code, answer)
	}
}
