package tinker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/longhaul-rl/longhaul/rl"
)

// kept is how many versions stay loaded: the one that acts, and one that an evaluation or a stale episode still plays with.
// Each takes a place among the adapters that the engine has room for.
const kept = 2

// Find gives a version's checkpoint and its base's tokenizer.json.
type Find func(ctx context.Context, v rl.Version) (Checkpoint, []byte, error)

// Chat answers chat completions of a run's versions by sampling from a service. It is an http.Handler, for a policy client
// in the same process:
//
//	POST /v1/chat/completions   model is a version; ids of own past actions are taken (token_ids of a message)
//	GET  /v1/models/{version}   samples a token of it: 200, or why not
type Chat struct {
	client *Client
	find   Find
	mux    *http.ServeMux

	mu       sync.Mutex
	versions []version // the one used last is last
}

type version struct {
	name rl.Version
	*sampler
}

// NewChat makes a server.
func NewChat(c *Client, find Find) *Chat {
	s := &Chat{client: c, find: find, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.mux.HandleFunc("GET /v1/models/{version}", s.ready)
	return s
}

// ServeHTTP answers one request.
func (s *Chat) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// version gives a version's sampler.
func (s *Chat) version(ctx context.Context, name rl.Version) (*sampler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.versions, func(v version) bool { return v.name == name }); i >= 0 {
		v := s.versions[i]
		s.versions = append(slices.Delete(s.versions, i, i+1), v)
		return v.sampler, nil
	}
	of, tokenizer, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	template, err := NewTemplate(tokenizer)
	if err != nil {
		return nil, err
	}
	v := version{name, &sampler{client: s.client, Template: template, of: of, path: of.Sampler}}
	s.versions = append(s.versions, v)
	if len(s.versions) > kept {
		go s.versions[0].leave()
		s.versions = slices.Delete(s.versions, 0, 1)
	}
	return v.sampler, nil
}

// completion is what of a request is read; what else the API has, a policy client does not send.
type completion struct {
	Model    rl.Version `json:"model"`
	Messages []message  `json:"messages"`
	Tools    []struct {
		Function json.RawMessage `json:"function"`
	} `json:"tools"`
	Temperature float64  `json:"temperature"`
	MaxTokens   int      `json:"max_tokens"`
	Seed        uint64   `json:"seed"`
	Stop        []string `json:"stop"`
}

func (s *Chat) complete(w http.ResponseWriter, r *http.Request) {
	var q completion
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		fail(w, rl.Errorf(rl.Invalid, "request", "%w", err))
		return
	}
	v, err := s.version(r.Context(), q.Model)
	if err != nil {
		fail(w, err)
		return
	}
	tools := make([]json.RawMessage, len(q.Tools))
	for i, t := range q.Tools {
		tools[i] = json.RawMessage(`{"type": "function", "function": ` + string(t.Function) + `}`)
	}
	ids, err := v.Template.prompt(q.Messages, tools)
	if err != nil {
		fail(w, err)
		return
	}
	a, err := v.sample(r.Context(), ids, sampling{MaxTokens: q.MaxTokens, Temperature: q.Temperature, TopP: 1, TopK: -1, Seed: seed31(q.Seed), Stop: []int32{v.Template.end}})
	if err != nil {
		fail(w, err)
		return
	}
	said := v.Template.stop(&a, q.Stop)
	logProbs := make([]map[string]float32, len(a.LogProbs))
	for i, p := range a.LogProbs {
		logProbs[i] = map[string]float32{"logprob": p}
	}
	answer(w, http.StatusOK, map[string]any{
		"model": q.Model, "prompt_token_ids": ids,
		"choices": []any{map[string]any{
			"finish_reason": a.Stop, "token_ids": a.Tokens, "logprobs": map[string]any{"content": logProbs},
			"message": map[string]any{"role": "assistant", "content": said},
		}},
	})
}

func (s *Chat) ready(w http.ResponseWriter, r *http.Request) {
	name := rl.Version(r.PathValue("version"))
	v, err := s.version(r.Context(), name)
	if err == nil {
		_, err = v.sample(r.Context(), []int32{v.Template.start}, sampling{MaxTokens: 1, Temperature: 1, TopP: 1, TopK: -1})
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"id": name, "object": "model"})
}

// fail says what is wrong, with the status that a policy client makes the same kind of error of.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch kind := rl.KindOf(err); {
	case kind == rl.NotFound:
		status = http.StatusNotFound
	case kind == rl.Unavailable, kind == "", errors.Is(err, context.Canceled):
		status = http.StatusServiceUnavailable
	}
	answer(w, status, map[string]any{"error": map[string]any{"message": err.Error()}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
