package reward

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

const secret = "sk-judge-0123456789"

// askingOf is a client of a server that answers so, over real HTTP.
func askingOf(t *testing.T, answer http.HandlerFunc, change func(*rl.RewardConfig)) (*Client, *httptest.Server) {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c := rl.RewardConfig{URL: server.URL + "/v1", Model: "m", Timeout: rl.Duration(time.Minute), Concurrency: 4, USDIn: 2, USDOut: 8}
	if change != nil {
		change(&c)
	}
	return NewClient(c, secret, nil), server
}

var question = Question{Prompt: 1, Model: "m", Messages: []rl.Message{{Role: rl.System, Content: "compare"}, {Role: rl.User, Content: "these"}}, IDs: []string{"B2", "C3"}, MaxTokens: 100, Seed: 7}

const answered = `{"id":"x","model":"m-2024","choices":[{"index":0,"message":{"role":"assistant","content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":250,"total_tokens":1250}}`

func TestAsk(t *testing.T) {
	var path, key, authorization string
	var body map[string]json.RawMessage
	j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
		path, key, authorization = r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization")
		b, _ := io.ReadAll(r.Body)
		json.Unmarshal(b, &body)
		io.WriteString(w, answered)
	}, nil)
	reply, err := j.Ask(t.Context(), "runs/a/1", question)
	// 1,000 x 2 USD and 250 x 8 USD a million
	want := Reply{Text: "{}", Finish: "stop", Model: "m-2024", Spent: rl.Spent{Calls: 1, PromptTokens: 1000, ReplyTokens: 250, USD: .004}}
	if err != nil || reply != want {
		t.Fatalf("%+v, %v", reply, err)
	}
	if path != "/v1/chat/completions" || key != "runs/a/1" || authorization != "Bearer "+secret {
		t.Errorf("%s, %s, %s", path, key, authorization)
	}
	for name, want := range map[string]string{
		"model": `"m"`, "seed": `7`, "max_completion_tokens": `100`, "temperature": `0`,
		"messages":        `[{"role":"system","content":"compare"},{"role":"user","content":"these"}]`,
		"response_format": `{"type":"json_schema","json_schema":{"name":"scores","schema":{"additionalProperties":false,"properties":{"scores":{"items":{"additionalProperties":false,"properties":{"id":{"enum":["B2","C3"],"type":"string"},"reason":{"type":"string"},"score":{"type":"number"}},"required":["id","reason","score"],"type":"object"},"type":"array"}},"required":["scores"],"type":"object"},"strict":true}}`,
	} {
		if got := string(body[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// 12 bytes of messages, 309 of the schema and 2 x 16 of a template are as many tokens at most: 353 x 2 and 100 x 8 USD a million
	if got := j.Most(question); got != .001506 {
		t.Errorf("at most %v", got)
	}
}

// The temperature is on the wire once and as it is, 0 too, whichever way the judge is asked.
func TestTemperature(t *testing.T) {
	for temperature, want := range map[float64]string{0: "0", .7: "0.7", 1: "1"} {
		var bodies []string
		j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(b))
			if len(bodies) == 1 {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":{"message":"response_format is not supported"}}`)
				return
			}
			io.WriteString(w, answered)
		}, nil)
		q := question
		q.Temperature = temperature
		if _, err := j.Ask(t.Context(), "k", q); err != nil {
			t.Fatal(err)
		}
		for _, b := range bodies {
			if !json.Valid([]byte(b)) || strings.Count(b, `"temperature":`) != 1 || !strings.Contains(b, `"temperature":`+want+`,`) {
				t.Errorf("%v: %s", temperature, b)
			}
		}
		if len(bodies) != 2 {
			t.Errorf("%d calls", len(bodies))
		}
	}
}

// What a server counts and what it refuses are kept; a server that counts nothing is taken to bill the most.
func TestReplies(t *testing.T) {
	for _, c := range []struct {
		answer, text, finish string
		usd                  float64
	}{
		{`{"choices":[{"message":{"content":"{}"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":0}}`, "{}", "length", .000002},
		{`{"choices":[{"message":{"content":null,"refusal":"I do not judge"},"finish_reason":"stop"}]}`, "(the judge refuses: I do not judge)", "stop", .001506},
		{`{"choices":[{"message":{"content":[{"type":"thinking"},{"type":"text","text":"{"},{"type":"text","text":"}"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":0}}`, "{}", "stop", .000002},
		{`{"choices":[{"message":{"content":"your key is ` + secret + `"}}],"usage":{"prompt_tokens":1,"completion_tokens":0}}`, "your key is [key]", "", .000002},
		{`{"choices":[{"message":{"content":""}}],"usage":{"prompt_tokens":-5,"completion_tokens":-1}}`, "", "", .001506},
	} {
		j, _ := askingOf(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.answer) }, nil)
		r, err := j.Ask(t.Context(), "k", question)
		if err != nil || r.Text != c.text || r.Finish != c.finish || r.Spent.USD != c.usd {
			t.Errorf("%s: %+v, %v", c.answer, r, err)
		}
	}
}

func TestAskFails(t *testing.T) {
	for _, c := range []struct {
		status             int
		retryAfter, answer string
		kind               rl.Kind
		wait               time.Duration
		is                 error
		words              string
	}{
		{401, "", `{"error":{"message":"Incorrect API key: ` + secret + `"}}`, rl.Refused, 0, nil, "401 Unauthorized: Incorrect API key: [key]"},
		{404, "", `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`, rl.Refused, 0, nil, "404 Not Found: The model m does not exist"},
		{400, "", `{"error":{"message":"messages: too many images"}}`, rl.Refused, 0, endpoint.ErrConversation, "400 Bad Request: messages: too many images"},
		{400, "", `{"error":{"message":"too long","code":"context_length_exceeded"}}`, rl.Refused, 0, endpoint.ErrContextLimit, "context limit: too long"},
		{429, "7", `{"error":{"message":"slow down"}}`, rl.Unavailable, 7 * time.Second, nil, "429 Too Many Requests: slow down"},
		{500, "", `oops`, rl.Unavailable, 0, nil, "500 Internal Server Error: oops"},
		{200, "", `<html>try again</html>`, rl.Unavailable, 0, nil, "the reply is not what the API promises: "},
		{200, "", `{"choices":[]}`, rl.Unavailable, 0, nil, "the reply is not what the API promises: it has no choices"},
		{200, "", `{"choices":[{"message":{"content":7}}]}`, rl.Refused, 0, nil, "its choices.message.content is of type number"},
		{200, "", `{"choices":[{"message":{"con`, rl.Unavailable, 0, nil, "half a reply: "},
	} {
		var asked atomic.Int32
		j, server := askingOf(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.answer)
		}, nil)
		_, err := j.Ask(t.Context(), "k", question)
		e, ok := errors.AsType[*rl.Error](err)
		if !ok || e.Kind != c.kind || e.RetryAfter != c.wait || c.is != nil && !errors.Is(err, c.is) || asked.Load() != 1 {
			t.Errorf("%d %s: %v after %d asks", c.status, c.answer, err, asked.Load())
		}
		if err == nil || !strings.HasPrefix(err.Error(), "judge "+server.URL+"/v1: ") || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), secret) {
			t.Errorf("%d: %v, want %s", c.status, err, c.words)
		}
	}
}

func TestAServerThatHangs(t *testing.T) {
	j, server := askingOf(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server see that the client goes away
		<-r.Context().Done()
	}, func(c *rl.RewardConfig) { c.Timeout = rl.Duration(3 * time.Second) }) // in which it is reached
	if _, err := j.Ask(t.Context(), "k", question); !errors.Is(err, endpoint.ErrNoReply) || rl.KindOf(err) != rl.Unavailable {
		t.Errorf("%v", err)
	}
	server.Close()
	j = NewClient(rl.RewardConfig{URL: server.URL + "/v1", Model: "m", Timeout: rl.Duration(time.Minute), Concurrency: 1}, secret, nil)
	if _, err := j.Ask(t.Context(), "k", question); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// A server without schemas is asked once more without one, and never again with one. The call keeps its key.
func TestAServerWithoutSchemas(t *testing.T) {
	var with, keys []string
	j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		schema := strings.Contains(string(b), "json_schema")
		with, keys = append(with, map[bool]string{true: "schema", false: "plain"}[schema]), append(keys, r.Header.Get("Idempotency-Key"))
		if schema {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"unknown field response_format"}}`)
			return
		}
		io.WriteString(w, answered)
	}, nil)
	for _, key := range []string{"a", "b"} {
		if r, err := j.Ask(t.Context(), key, question); err != nil || r.Text != "{}" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if got := strings.Join(with, " "); got != "schema plain plain" || strings.Join(keys, " ") != "a a-plain b" {
		t.Errorf("%s, %s", got, keys)
	}
}

// There are as many places as calls may be under way; who waits for one stops waiting with its context.
func TestConcurrencyIsBounded(t *testing.T) {
	j, _ := askingOf(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answered) }, func(c *rl.RewardConfig) { c.Concurrency = 3 })
	var taken []func()
	for range 3 {
		release, err := j.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, release)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := j.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a fourth place: %v", err)
	}
	taken[0]()
	taken[0]() // once
	if _, err := j.Acquire(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := j.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a place that was given back twice counts twice: %v", err)
	}
}

// A connection that breaks before an answer came is told of: the call is not sent again by the transport.
func TestNobodySendsACallAgain(t *testing.T) {
	var got atomic.Int32
	j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
		if got.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, answered)
	}, nil)
	if _, err := j.Ask(t.Context(), "a", question); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Ask(t.Context(), "b", question); rl.KindOf(err) != rl.Unavailable || errors.Is(err, endpoint.ErrUnserved) {
		t.Errorf("%v", err)
	}
	if n := got.Load(); n != 2 {
		t.Errorf("%d calls came for 2 questions", n)
	}
}

func TestModels(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		models string
		kind   rl.Kind
	}{
		{200, `{"data":[{"id":"m"},{"id":"m-2024"}]}`, "m m-2024", ""},
		{200, `{"data":[]}`, "", rl.NotFound},
		{401, "", "", rl.Refused},
		{503, "", "", rl.Unavailable},
	} {
		j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.answer)
		}, nil)
		if models, err := j.Models(t.Context()); strings.Join(models, " ") != c.models || rl.KindOf(err) != c.kind {
			t.Errorf("%d %s: %q, %v", c.status, c.answer, models, err)
		}
	}
}

// The whole way over HTTP: an empty reply is answered with a message that has content, since servers refuse others.
func TestJudgeOverHTTP(t *testing.T) {
	n := 0
	j, _ := askingOf(t, func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []rl.Message }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		for _, m := range q.Messages {
			if m.Content == "" {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":{"message":"content is required"}}`)
				return
			}
		}
		var reply Reply
		if n++; n > 1 {
			reply, _ = judgeBy(letter)(r.Context(), Question{Messages: q.Messages})
		}
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": reply.Text}, "finish_reason": "stop"}}})
	}, nil)
	ask := func(ctx context.Context, q Question) (Reply, error) { return j.Ask(ctx, "k", q) }
	if s := scoresOf(t, judged(nil), eight(), ask); values(s) != "0 0.125 0.25 0.375 0.5 0.625 0.75 0.875" || n != 3 {
		t.Errorf("%s, %d asks", values(s), n)
	}
}
