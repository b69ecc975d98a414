package tiny

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// maxRequests is how many chat requests are worked on or wait at once; more are told to come back (429).
const maxRequests = 2048

// Server answers chat completions of policy versions. It is an http.Handler:
//
//	POST /v1/chat/completions   see wireRequest; model is a version
//	GET  /v1/models             the versions that are loaded
//	GET  /v1/models/{version}   loads the version: 200, or 404 when there is none
//	GET  /healthz
//
// A request without a seed has seed 0; the same request always gets the same bytes, created (0) included. Memory is
// bounded: 4 versions, 256 MiB of idle key-value caches, 16 live requests a thread, 2,048 requests of at most 1 MiB.
type Server struct {
	mux      *http.ServeMux
	versions *versions
	caches   *caches
	queue    *queue
	boxes    boxes
	requests atomic.Int64
	cancel   context.CancelFunc // of loads
	lanes    sync.WaitGroup
}

// NewServer makes a server that samples on that many threads and gets a version's model from load when it is first
// asked for. An error of load of kind NotFound is answered with 404, Unavailable with 503, any other with 500; it
// is not remembered. Close ends the server.
func NewServer(load func(context.Context, rl.Version) (*nn.Model, error), threads int) *Server {
	threads = max(1, threads)
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{mux: http.NewServeMux(), caches: newCaches(4 * maxLive * threads), queue: newQueue(threads), cancel: cancel}
	s.versions = &versions{load: load, ctx: ctx, forgot: s.caches.forget}
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /v1/models/{version...}", s.model)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		(&failure{http.StatusNotFound, "not_found", "no such page: " + r.Method + " " + r.URL.Path, ""}).write(w)
	})
	for range threads {
		l := &lane{queue: s.queue, caches: s.caches, runners: map[*nn.Model]*nn.Runner{}}
		s.lanes.Go(l.run)
	}
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Load makes a version ready to answer. Errors are load's own, which an answer over HTTP cannot carry, or ctx's.
func (s *Server) Load(ctx context.Context, v rl.Version) error {
	_, err := s.versions.get(ctx, v)
	return err
}

// Close fails the requests that wait or are being sampled (503) and stops the threads. It may be called twice.
func (s *Server) Close() {
	s.cancel()
	s.queue.close()
	s.lanes.Wait()
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	defer s.requests.Add(-1)
	if s.requests.Add(1) > maxRequests {
		(&failure{http.StatusTooManyRequests, "too_many_requests", fmt.Sprintf("more than %d requests at once", maxRequests), ""}).write(w)
		return
	}
	q, body, err := s.boxes.readRequest(w, r)
	if err != nil {
		failureOf(err, "").write(w)
		return
	}
	a := &answer{wireRequest: q, id: fingerprint(body)}
	if err := s.prepare(r.Context(), a); err != nil {
		failureOf(err, q.Model).write(w)
		return
	}
	if q.Stream {
		s.stream(w, a)
		return
	}
	if err := s.sample(a.job); err != nil {
		failureOf(err, q.Model).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(a.json())
}

// prepare finds the model and the tools, renders the prompt, and checks that it fits.
func (s *Server) prepare(ctx context.Context, a *answer) (err error) {
	if a.box, err = s.boxes.get(a.Tools); err != nil {
		return err
	}
	m, err := s.versions.get(ctx, rl.Version(a.Model))
	if err != nil {
		return err
	}
	prompt, err := a.prompt(a.box)
	if err != nil {
		return err
	}
	if string(a.ToolChoice) == `"none"` {
		a.box = nil
	}
	most := m.Ctx - len(prompt)
	if a.MaxTokens != nil {
		most = *a.MaxTokens
	}
	if most < 1 || most > m.Ctx-len(prompt) {
		return &failure{http.StatusBadRequest, "context_length_exceeded", fmt.Sprintf(
			"the context is %d tokens: %d of messages and %d to sample do not fit", m.Ctx, len(prompt), max(1, most)), "messages"}
	}
	a.job = &job{
		ctx: ctx, model: m, prompt: prompt, most: most, stop: a.Stop, temperature: a.Temperature,
		random: rand.New(rand.NewPCG(uint64(a.Seed), 0x7461)), done: make(chan struct{}),
	}
	return nil
}

// sample waits until the lanes have done the job. Its error is the job's, or the context's.
func (s *Server) sample(j *job) error {
	if !s.queue.put(j) {
		return errClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-j.ctx.Done():
		s.queue.drop(j)
		return j.ctx.Err()
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, name := range s.versions.loaded() {
		list = append(list, modelPage(name))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(indented(map[string]any{"object": "list", "data": list}))
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("version")
	if _, err := s.versions.get(r.Context(), rl.Version(name)); err != nil {
		failureOf(err, name).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(indented(modelPage(name)))
}

func modelPage(name string) map[string]any {
	return map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "longhaul"}
}

// fingerprint names a request by its bytes.
func fingerprint(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:12])
}
