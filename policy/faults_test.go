package policy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// canned is a server that gives one answer, and keeps what it was asked.
func canned(t *testing.T, o Options, h http.HandlerFunc) (*Client, func() map[string]any) {
	t.Helper()
	var last []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last, _ = io.ReadAll(r.Body)
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	o.URL = srv.URL + "/v1"
	return New(o), func() map[string]any {
		var v map[string]any
		if err := json.Unmarshal(last, &v); err != nil {
			t.Fatalf("the request is no JSON: %v\n%s", err, last)
		}
		return v
	}
}

func says(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if k, v, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func question(model string) Request {
	return Request{Model: model, Messages: []rl.Message{{Role: rl.User, Content: "where is order 48?"}}}
}

func TestFaults(t *testing.T) {
	const ids = `{"model":"run@000001","prompt_token_ids":[1,2],"choices":[{"message":{"content":"x"},"token_ids":[3,4],"logprobs":{"content":[`
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		kind rl.Kind
		say  string
		wait time.Duration
	}{
		"busy":            {says(429, "Retry-After: 7", `{"error":{"message":"slow down"}}`), rl.Unavailable, "slow down", 7 * time.Second},
		"busy, a date":    {says(503, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", `{"message":"loading"}`), rl.Unavailable, "loading", 0},
		"internal":        {says(500, "", `{"detail":"boom"}`), rl.Unavailable, "boom", 0},
		"bad gateway":     {says(502, "", `<html>`), rl.Unavailable, "502 Bad Gateway: <html>", 0},
		"unauthorised":    {says(401, "", `{"error":{"message":"wrong key sk-secret given"}}`), rl.Refused, "wrong key [key] given", 0},
		"unknown model":   {says(404, "", `{"error":{"message":"no model run@000001","code":"model_not_found"}}`), rl.Refused, "no model run@000001", 0},
		"error is text":   {says(400, "", `{"error":"no such thing"}`), rl.Refused, "no such thing", 0},
		"bad tool call":   {says(422, "", `{"error":{"message":"tool call 3 is malformed"}}`), rl.Refused, "the server refuses this conversation: 422 Unprocessable Entity: tool call 3", 0},
		"key in a 400":    {says(400, "", `{"error":{"message":"API key not valid"}}`), rl.Refused, "API key not valid", 0},
		"bad order":       {says(400, "", `{"error":{"message":"Invalid parameter: messages with role 'tool' must follow 'tool_calls'","type":"invalid_request_error"}}`), rl.Refused, "refuses this conversation: 400", 0},
		"bad value":       {says(400, "", `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model."}}`), rl.Refused, "400 Bad Request: Unsupported value", 0},
		"model in a 400":  {says(400, "", `{"error":{"message":"not deployed","code":"model_not_found"}}`), rl.Refused, "not deployed", 0},
		"page":            {says(200, "Content-Type: text/html", `<html>Be right back`), rl.Unavailable, "not what the API promises", 0},
		"redirect":        {says(302, "Location: http://elsewhere.example/", ``), rl.Refused, "302 Found", 0},
		"garbage":         {says(200, "", `hello`), rl.Unavailable, "not what the API promises", 0},
		"wrong type":      {says(200, "", `{"choices":[{"token_ids":"no"}]}`), rl.Refused, "its choices.token_ids is of type string", 0},
		"half a JSON":     {says(200, "", `{"choices":[{"message"`), rl.Unavailable, "half a reply", 0},
		"half a body":     {says(200, "Content-Length: 500", `{"choices":[`), rl.Unavailable, "half a reply", 0},
		"no choices":      {says(200, "", `{"choices":[]}`), rl.Unavailable, "no choices", 0},
		"no model's name": {says(200, "", `{"choices":[{"message":{"content":"x"}}]}`), rl.Unavailable, "it does not say which model answered, where run@000001 was asked for", 0},
		"lengths":         {says(200, "", ids+`{"logprob":-1}]}}]}`), rl.Unavailable, "2 sampled token ids, 1 log-probabilities", 0},
		"no log-prob":     {says(200, "", ids+`{"logprob":-1},{"token":"x"}]}}]}`), rl.Unavailable, "token 1 of 2 has no log-probability", 0},
		"a probability":   {says(200, "", ids+`{"logprob":-1},{"logprob":0.5}]}}]}`), rl.Unavailable, "token 1 of 2 has 0.5", 0},
		"no chance":       {says(200, "", ids+`{"logprob":-1},{"logprob":-9999}]}}]}`), rl.Unavailable, "token 1 of 2 has -9999", 0},
		"not a number":    {says(200, "", ids+`{"logprob":-1},{"logprob":1e999}]}}]}`), rl.Unavailable, "not what the API promises", 0},
		"negative id":     {says(200, "", `{"model":"run@000001","choices":[{"message":{"content":"x"},"token_ids":[-3]}]}`), rl.Unavailable, "token id -3 at 0 is negative", 0},
		"context, OpenAI": {says(400, "", `{"error":{"message":"too long","code":"context_length_exceeded"}}`), rl.Refused, "context limit: too long", 0},
		"context, vLLM":   {says(400, "", `{"error":{"message":"This model's maximum context length is 256 tokens.","code":400}}`), rl.Refused, "context limit: This", 0},
		"context, llama":  {says(400, "", `{"error":{"message":"too large","type":"exceed_context_size_error","code":400}}`), rl.Refused, "context limit: too", 0},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := canned(t, Options{APIKey: "sk-secret"}, c.h)
			_, err := client.Act(t.Context(), question("run@000001"))
			e, ok := errors.AsType[*rl.Error](err)
			if !ok || e.Kind != c.kind || !strings.Contains(err.Error(), c.say) || e.RetryAfter != c.wait {
				t.Fatalf("%#v\n%v\nwant %s, %q, %v", e, err, c.kind, c.say, c.wait)
			}
			if strings.HasPrefix(name, "context") != errors.Is(err, endpoint.ErrContextLimit) {
				t.Error("context limit not told apart:", err)
			}
			if one := name == "bad tool call" || name == "bad order" || name == "error is text"; one != errors.Is(err, endpoint.ErrConversation) {
				t.Error("is it about one conversation?", err)
			}
			if strings.Contains(err.Error(), "sk-secret") || !strings.HasPrefix(err.Error(), "policy http://127.0.0.1:") {
				t.Error(err)
			}
		})
	}
}

func TestHugeReply(t *testing.T) {
	c := New(Options{URL: "http://huge/v1", Transport: fixed{200, strings.Repeat(" ", endpoint.MaxReply+1)}})
	if _, err := c.Act(t.Context(), question("m")); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "larger than 16777216 bytes") {
		t.Fatal(err)
	}
}

func TestLongWordsAreCut(t *testing.T) {
	client, _ := canned(t, Options{}, says(400, "", strings.Repeat("ä", 3000)))
	_, err := client.Act(t.Context(), question("m"))
	if s := err.Error(); len(s) > 2200 || !strings.HasSuffix(s, "ä... (4000 bytes more)") {
		t.Fatal(len(s), s[len(s)-60:])
	}
}

func TestUnreachableNamesNoSecret(t *testing.T) {
	for _, raw := range []string{"http://me:hunter2@127.0.0.1:1/v1?key=hunter2", "http://[bad hunter2/v1"} {
		_, err := New(Options{URL: raw, APIKey: "hunter2"}).Act(t.Context(), question("m"))
		if rl.KindOf(err) == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}

// late is a context whose deadline passes when over is closed.
type late struct {
	context.Context
	over chan struct{}
}

func (l late) Done() <-chan struct{} { return l.over }

func (l late) Err() error {
	select {
	case <-l.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestDeadline(t *testing.T) {
	ctx := late{t.Context(), make(chan struct{})}
	client, _ := canned(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		close(ctx.over) // the server was reached
		<-r.Context().Done()
	})
	_, err := client.Act(ctx, question("m"))
	if rl.KindOf(err) != rl.Unavailable || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, endpoint.ErrNoReply) {
		t.Fatal(err)
	}
}

// A server that refuses the token-id extension is asked without it, once and for all.
func TestServerThatRefusesTokenIDs(t *testing.T) {
	asked := 0
	client, last := canned(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			says(400, "", `{"error":{"message":"Unrecognized request argument supplied: return_token_ids"}}`)(w, r)
			return
		}
		says(200, "", `{"model":"m-2024","choices":[{"message":{"content":"hello"},"finish_reason":"stop","logprobs":{"content":[{"token":"hello","logprob":-0.5}]}}]}`)(w, r)
	})
	for range 2 {
		r, err := client.Act(t.Context(), question("m"))
		if err != nil || r.Message.Content != "hello" || r.Tokens != nil || r.LogProbs != nil || r.Prompt != nil || r.Model != "m-2024" {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if _, there := last()["return_token_ids"]; there || asked != 3 {
		t.Fatal("asked", asked, "times, token ids asked for:", there)
	}
}

func TestAcquireBoundsEpisodes(t *testing.T) {
	c := New(Options{Concurrency: 2})
	first, _ := c.Acquire(t.Context())
	if _, err := c.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal("a third live episode: ", err)
	}
	first.Release()
	first.Release() // is not two places
	if _, err := c.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.slots) != 2 {
		t.Fatal(len(c.slots))
	}
}

func TestReady(t *testing.T) {
	client, _ := canned(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/v1/models/run@000001":
			says(200, "", `{"id":"run@000001"}`)(w, r)
		case "/v1/models":
			says(200, "", `{"data":[{"id":"Qwen/Qwen3"},{"id":"other"}]}`)(w, r)
		case "/v1/models/broken":
			says(500, "", `no disk`)(w, r)
		default:
			says(404, "", `{"detail":"Not Found"}`)(w, r)
		}
	})
	for model, want := range map[string]rl.Kind{"run@000001": "", "Qwen/Qwen3": "", "absent": rl.NotFound, "broken": rl.Unavailable} {
		if err := client.Ready(t.Context(), model, false); rl.KindOf(err) != want || (want != "" && err == nil) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	if err := client.Ready(t.Context(), "absent", false); !strings.Contains(err.Error(), "Qwen/Qwen3, other") {
		t.Error(err)
	}
}

// Where the ids are, by server.
func TestTokenIDVariants(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		prompt   []int32
		tokens   []int32
		logProbs []float32
	}{
		"vLLM chat": {`{"prompt_token_ids":[1,2],"choices":[{"message":{"content":"x"},"token_ids":[3,4],"logprobs":{"content":[{"logprob":-0.25},{"logprob":0}]}}]}`,
			[]int32{1, 2}, []int32{3, 4}, []float32{-0.25, 0}},
		"in the choice": {`{"choices":[{"prompt_token_ids":[1],"message":{"content":"x"},"token_ids":[3],"logprobs":{"content":[{"logprob":-1}]}}]}`,
			[]int32{1}, []int32{3}, []float32{-1}},
		"llama.cpp": {`{"choices":[{"message":{"content":"x"},"logprobs":{"content":[{"id":3,"logprob":-1},{"id":0,"logprob":-2}]}}]}`,
			nil, []int32{3, 0}, []float32{-1, -2}},
		"SGLang": {`{"prompt_token_ids":[9],"choices":[{"message":{"content":"x"},"response_token_ids":[3],"logprobs":{"content":[{"logprob":-1}]}}]}`,
			[]int32{9}, []int32{3}, []float32{-1}},
		"ids without log-probabilities": {`{"prompt_token_ids":[9],"choices":[{"message":{"content":"x"},"token_ids":[3],"logprobs":null}]}`,
			[]int32{9}, []int32{3}, nil},
		"log-probabilities without ids": {`{"choices":[{"message":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-1}]}}]}`, nil, nil, nil},
	} {
		client, _ := canned(t, Options{}, says(200, "", c.body))
		r, err := client.Act(t.Context(), question("m"))
		if err != nil || !slices.Equal(r.Prompt, c.prompt) || !slices.Equal(r.Tokens, c.tokens) || !slices.Equal(r.LogProbs, c.logProbs) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}
