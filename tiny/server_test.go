package tiny

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
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
		`{"model":"a@1","stop":["x"],"stream":true,` + hello + `}`:                                             `400 invalid_request stop`,
		`{"model":"a@1","stop":"",` + hello + `}`:                                                              `400 invalid_request stop`,
		`{"model":"a@1","stop":[1],` + hello + `}`:                                                             `400 invalid_request `,
		`{"model":"a@1","tool_choice":"required",` + hello + `}`:                                               `400 invalid_request tool_choice`,
		`{"model":"a@1","tool_choice":" ",` + hello + `}`:                                                      `400 invalid_request tool_choice`,
		`{"model":"a@1","temperature":-1,` + hello + `}`:                                                       `400 invalid_request temperature`,
		`{"model":"a@1","temperature":1e-9,` + hello + `}`:                                                     `400 invalid_request temperature`,
		`{"model":"a@1","max_tokens":0,` + hello + `}`:                                                         `400 invalid_request max_tokens`,
		`{"model":"a@1","max_tokens":250,` + hello + `}`:                                                       `400 context_length_exceeded messages`,
		`{"model":"a@1","messages":[{"role":"user","content":"` + strings.Repeat("x", 400) + `"}]}`:            `400 context_length_exceeded messages`,
		`{"model":"` + strings.Repeat("x", maxBody) + `"}`:                                                     `413 context_length_exceeded `,
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
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
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
