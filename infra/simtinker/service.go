// Package simtinker is a service of the Tinker API without a model, for tests: what SkyRL 0.3.0 was measured to do, on a
// policy of one weight. It executes every call that reaches it, as often as it does: nothing is deduplicated, gradients add up
// until a step, and outlive the model of their slot. Its engine can be killed, and comes back with what the database and the
// disk had.
//
// service.go answers requests, take.go is what the API makes of a call, engine.go what it works on, and fate.go what tests do to it.
package simtinker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Base is the name of the only base model.
const Base = "base"

const (
	silence = 300 * time.Second // after which a session's models are unloaded
	patient = 300               // seconds that a future's request waits
)

// Service is an http.Handler. It is safe for concurrent use.
type Service struct {
	Archives string // where archives lie when it is elsewhere; to be set before any request

	mu       sync.Mutex
	last     int // of ids
	sessions map[string]time.Time
	known    map[string]string // models in the database, and their session
	futures  map[string]*future
	saves    map[string]*State // by MODEL/weights/NAME and MODEL/sampler/NAME; nil: pending
	engine
	down bool // the engine is: calls stay pending
}

type future struct {
	status int // 0: pending
	body   any
}

// New makes a service.
func New() *Service {
	s := &Service{sessions: map[string]time.Time{}, known: map[string]string{}, futures: map[string]*future{}, saves: map[string]*State{}}
	s.models = map[string]*loaded{}
	return s
}

func detail(words string) map[string]any { return map[string]any{"detail": words} }

// call is what of a request is read.
type call struct {
	Session string `json:"session_id"`
	Model   string `json:"model_id"`
	Path    string `json:"path"`
	From    string `json:"model_path"`
	Request string `json:"request_id"`
	Adam    struct {
		LearningRate float64 `json:"learning_rate"`
		Beta1        float64 `json:"beta1"`
	} `json:"adam_params"`
	Input struct {
		Loss string  `json:"loss_fn"`
		Data []datum `json:"data"`
	} `json:"forward_backward_input"`
}

type datum struct {
	Inputs map[string]struct {
		Data []float64 `json:"data"`
	} `json:"loss_fn_inputs"`
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	if r.Method == http.MethodGet {
		s.get(w, r, what)
		return
	}
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		reply(w, 422, detail(err.Error()))
		return
	}
	if what == "retrieve_future" {
		s.retrieve(w, r, c.Request)
		return
	}
	status, body := s.take(what, c)
	reply(w, status, body)
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, what string) {
	switch parts := strings.Split(what, "/"); {
	case what == "get_server_capabilities":
		reply(w, 200, map[string]any{"supported_models": []any{map[string]string{"model_name": Base}}})
	case len(parts) == 5 && parts[4] == "archive":
		to := s.Archives
		if to == "" {
			to = "http://" + r.Host + strings.TrimSuffix(r.URL.Path, "archive") + "download"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	case len(parts) == 5 && parts[4] == "download":
		w.Write(archive(s.Saved(parts[1] + "/sampler/" + parts[3])))
	default:
		reply(w, 404, detail("Not Found"))
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// retrieve waits for a future.
func (s *Service) retrieve(w http.ResponseWriter, r *http.Request, id string) {
	for range patient {
		f, known := s.future(id)
		switch {
		case !known:
			reply(w, 404, detail("Future not found"))
			return
		case f.status != 0:
			reply(w, f.status, f.body)
			return
		}
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return
		}
	}
	reply(w, 408, detail("Timeout waiting for result"))
}

func (s *Service) future(id string) (f future, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.futures[id]; p != nil {
		return *p, true
	}
	return f, false
}

func (s *Service) id(of string) string { s.last++; return fmt.Sprint(of, s.last) }
