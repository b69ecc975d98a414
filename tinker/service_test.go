package tinker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/inprocess"
)

// service does what SkyRL 0.3.0 was measured to do, on a policy of one weight: it executes every call that reaches it, as
// often as it does. Its engine can be killed, and comes back with what the database and the disk had.
type service struct {
	mu       sync.Mutex
	last     int // of ids
	sessions map[string]time.Time
	known    map[string]string // models in the database, and their session
	futures  map[string]*future
	saves    map[string]*save // by model/kind/name
	models   map[string]*loaded
	slots    [8]float64 // gradients, which outlive the models of their slot
	steps    int        // that changed a weight
	wait     bool       // the engine is down: calls stay pending
	archives string     // where archives are
}

type future struct {
	status int // 0: pending
	body   any
}

type save struct {
	ready            bool
	weight, momentum float64
}

type loaded struct {
	slot             int
	weight, momentum float64
}

func newService() *service {
	return &service{sessions: map[string]time.Time{}, known: map[string]string{}, futures: map[string]*future{}, saves: map[string]*save{}, models: map[string]*loaded{}}
}

// kill ends the engine with what it had in memory. Calls that it had not done are never done.
func (s *service) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models, s.slots, s.wait = map[string]*loaded{}, [8]float64{}, false
	for _, f := range s.futures {
		if f.status == 0 {
			f.status, f.body = 400, detail("Model m not loaded (likely stale request from previous server)")
		}
	}
}

func detail(words string) map[string]any { return map[string]any{"detail": words} }

type call struct {
	Session string `json:"session_id"`
	Model   string `json:"model_id"`
	Base    string `json:"base_model"`
	Path    string `json:"path"`
	From    string `json:"model_path"`
	Request string `json:"request_id"`
	Adam    Adam   `json:"adam_params"`
	Input   struct {
		Loss string `json:"loss_fn"`
		Data []struct {
			Inputs map[string]struct {
				Data []float64 `json:"data"`
			} `json:"loss_fn_inputs"`
		} `json:"data"`
	} `json:"forward_backward_input"`
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/archive") {
		w.Header().Set("Location", s.archives)
		w.WriteHeader(302)
		return
	}
	if r.Method == http.MethodGet {
		reply(w, 200, map[string]any{"supported_models": []any{map[string]string{"model_name": "base"}}})
		return
	}
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		panic(err)
	}
	what := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	if what == "retrieve_future" {
		s.retrieve(w, r, c.Request)
		return
	}
	status, body := s.take(what, c)
	reply(w, status, body)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// retrieve waits for a future, as long as the client or 300 s.
func (s *service) retrieve(w http.ResponseWriter, r *http.Request, id string) {
	for range 300 {
		s.mu.Lock()
		f := s.futures[id]
		var status int
		var body any
		if f != nil {
			status, body = f.status, f.body
		}
		s.mu.Unlock()
		switch {
		case f == nil:
			reply(w, 404, detail("Future not found"))
			return
		case status != 0:
			reply(w, status, body)
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

func (s *service) id(of string) string { s.last++; return fmt.Sprint(of, s.last) }

// take is the API's part of a call: what it checks at once, and a future for the engine.
func (s *service) take(what string, c call) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, heard := range s.sessions { // the engine's own cleaning up
		if time.Since(heard) > 300*time.Second {
			delete(s.sessions, id)
			for m, session := range s.known {
				if session == id {
					delete(s.models, m)
				}
			}
		}
	}
	_, alive := s.sessions[c.Session]
	switch what {
	case "create_session":
		id := s.id("session")
		s.sessions[id] = time.Now()
		return 200, map[string]string{"session_id": id}
	case "session_heartbeat":
		if alive {
			s.sessions[c.Session] = time.Now()
		}
		return 200, struct{}{}
	case "create_model":
		if !alive {
			return 404, detail("Session not found")
		}
		c.Model = s.id("model")
		s.known[c.Model] = c.Session
	case "asample":
		kind, name, _ := strings.Cut(strings.TrimPrefix(c.From, "tinker://"), "/")
		if k := s.saves[kind+"/sampler/"+strings.TrimPrefix(name, "sampler_weights/")]; k == nil {
			return 404, detail("Checkpoint not found")
		}
		c.Model = kind
	default:
		if _, ok := s.known[c.Model]; !ok {
			return 404, detail("Model not found")
		}
	}
	if what == "save_weights" || what == "save_weights_for_sampler" {
		key := c.Model + "/" + map[bool]string{true: "weights", false: "sampler"}[what == "save_weights"] + "/" + c.Path
		if s.saves[key] != nil {
			return 409, detail("Checkpoint already exists for model")
		}
		s.saves[key] = &save{}
	}
	if what == "load_weights" {
		k := s.saves[strings.TrimPrefix(c.Path, "tinker://")]
		if k == nil {
			return 404, detail("Checkpoint not found")
		}
		if !k.ready {
			return 425, detail("Checkpoint is still being created")
		}
	}
	f, id := &future{}, s.id("")
	s.futures[id] = f
	if !s.wait {
		f.status, f.body = s.engine(what, c)
	}
	return 200, map[string]string{"request_id": id, "model_id": c.Model}
}

// engine does a call.
func (s *service) engine(what string, c call) (int, any) {
	m := s.models[c.Model]
	if m == nil && what != "create_model" && what != "unload_model" {
		return 400, detail("Model " + c.Model + " not loaded")
	}
	switch what {
	case "create_model":
		taken := map[int]bool{}
		for _, o := range s.models {
			taken[o.slot] = true
		}
		for slot := range s.slots {
			if !taken[slot] {
				s.models[c.Model] = &loaded{slot: slot, weight: 1}
				return 200, map[string]string{"base_model": "base"}
			}
		}
		return 400, detail("Maximum number of LoRA adapters (8) reached")
	case "unload_model":
		delete(s.models, c.Model)
	case "forward_backward":
		return s.pass(m, c)
	case "optim_step":
		m.momentum = c.Adam.Beta1*m.momentum + s.slots[m.slot]
		m.weight -= c.Adam.LearningRate * m.momentum
		norm := s.slots[m.slot]
		s.slots[m.slot] = 0
		if c.Adam.LearningRate > 0 {
			s.steps++
		}
		return 200, map[string]any{"metrics": map[string]float64{"skyrl.ai/grad_norm": max(norm, -norm)}}
	case "load_weights":
		k := s.saves[strings.TrimPrefix(c.Path, "tinker://")]
		m.weight, m.momentum = k.weight, k.momentum
	case "save_weights":
		*s.saves[c.Model+"/weights/"+c.Path] = save{true, m.weight, m.momentum}
		return 200, map[string]string{"path": "tinker://" + c.Model + "/weights/" + c.Path}
	case "save_weights_for_sampler":
		*s.saves[c.Model+"/sampler/"+c.Path] = save{true, m.weight, 0}
		return 200, map[string]string{"path": "tinker://" + c.Model + "/" + c.Path}
	case "asample":
		_, name, _ := strings.Cut(strings.TrimPrefix(c.From, "tinker://"), "/")
		k := s.saves[c.Model+"/sampler/"+strings.TrimPrefix(name, "sampler_weights/")]
		return 200, map[string]any{"sequences": []any{map[string]any{"tokens": []int{5, 4}, "logprobs": []float64{-k.weight, -1}, "stop_reason": "stop"}}}
	}
	return 200, struct{}{}
}

// pass adds the advantages up: the gradient of the one weight.
func (s *service) pass(m *loaded, c call) (int, any) {
	var rows []any
	for _, d := range c.Input.Data {
		probs := make([]float64, len(d.Inputs["target_tokens"].Data))
		for t, w := range d.Inputs["weights"].Data {
			s.slots[m.slot] -= w * d.Inputs["advantages"].Data[t]
			probs[t] = -m.weight
		}
		rows = append(rows, map[string]any{"logprobs": map[string]any{"data": probs}})
	}
	return 200, map[string]any{"loss_fn_outputs": rows}
}

// weights are what a path holds.
func (s *service) weights(path string) save {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.saves[strings.TrimPrefix(path, "tinker://")]
	if k == nil {
		return save{}
	}
	return *k
}

// fault is what happens to a request.
type fault int

const (
	none   fault = iota
	drop         // it is served, its answer lost
	unsent       // it never arrives
	twice        // it is delivered twice, and the second answer comes back
	busy         // 429, not served
	broken       // 502 of a go-between, after it was served
	killed       // the engine is killed before it does it
	after        // the engine is killed after it did it
)

// road is the way to the service; each request but heartbeats takes the next of its faults.
type road struct {
	*service
	mu     sync.Mutex
	faults []fault
	calls  []string
}

func (r *road) next(what string) (f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, what)
	if len(r.faults) > 0 {
		f, r.faults = r.faults[0], r.faults[1:]
	}
	return f
}

var errCut = errors.New("connection reset by peer")

func (r *road) RoundTrip(q *http.Request) (*http.Response, error) {
	to := inprocess.Transport{Handler: r.service}
	what := strings.TrimPrefix(q.URL.Path, "/api/v1/")
	if what == "session_heartbeat" {
		return to.RoundTrip(q)
	}
	switch r.next(what) {
	case drop:
		if res, err := to.RoundTrip(q); err == nil {
			res.Body.Close()
		}
		return nil, errCut
	case unsent:
		return nil, errCut
	case twice:
		body, _ := q.GetBody()
		again := q.Clone(q.Context())
		again.Body = body
		if res, err := to.RoundTrip(q); err == nil {
			res.Body.Close()
		}
		return to.RoundTrip(again)
	case busy:
		return status(429), nil
	case broken:
		if res, err := to.RoundTrip(q); err == nil {
			res.Body.Close()
		}
		return status(502), nil
	case killed:
		r.service.mu.Lock()
		r.wait = true
		r.service.mu.Unlock()
		res, err := to.RoundTrip(q)
		time.AfterFunc(20*time.Second, r.kill)
		return res, err
	case after:
		res, err := to.RoundTrip(q)
		r.kill()
		return res, err
	}
	return to.RoundTrip(q)
}

func status(code int) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}
}

// refuser refuses a key and repeats it, as some servers do.
type refuser struct{ key string }

func (r *refuser) RoundTrip(q *http.Request) (*http.Response, error) {
	r.key = q.Header.Get("X-API-Key")
	return inprocess.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 401, detail("no such key: "+r.key))
	})}.RoundTrip(q)
}
