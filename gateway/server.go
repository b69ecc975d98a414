package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rollout"
)

// Limits of a client. A request of more than largeBody waits while largeAtOnce of its size are being read.
const (
	maxBody     = 16 << 20 // bytes of a request
	maxHeader   = 64 << 10
	largeBody   = 1 << 20
	largeAtOnce = 8
	headerTime  = 10 * time.Second // until a request's header is there
	bodyTime    = 60 * time.Second // and its body, and until an answer is read
	idleTime    = 2 * time.Minute
)

// Server is the gateway of a process: an http.Handler that answers the agents of the episodes that are open.
type Server struct {
	base  string
	http  *http.Server
	large chan struct{}
	log   *slog.Logger

	strangers atomic.Int64 // requests without an open episode's key

	mu       sync.Mutex
	episodes map[string]*Episode // by token
}

// Listen starts a gateway at an address, such as 127.0.0.1:0. Whoever can reach it needs an episode's key. log hears of what
// clients did that they should not; nil: nobody does. Errors are the listener's.
func Listen(address string, log *slog.Logger) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{base: "http://" + l.Addr().String(), log: log, large: make(chan struct{}, largeAtOnce), episodes: map[string]*Episode{}}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go s.http.Serve(l) // until Close
	return s, nil
}

// Close breaks all connections off.
func (s *Server) Close() error { return s.http.Close() }

// open makes an episode known. live is its time, lasts that of its record. Errors: Corrupt when the recorded turns are none.
func (s *Server) open(live, lasts context.Context, client *policy.Client, o rollout.Options) (*Episode, error) {
	e := &Episode{
		Options: o, token: strings.ToLower(rand.Text()), Key: "longhaul-" + strings.ToLower(rand.Text()),
		server: s, client: client, live: live, lasts: lasts, seat: make(chan *policy.Seat, 1), room: make(chan struct{}, together),
		asks: map[string][]*ask{}, answers: map[string]*ask{}, over: make(chan struct{}),
	}
	e.key = sha256.Sum256([]byte(e.Key))
	e.URL = s.base + "/e/" + e.token + "/v1"
	if err := e.told.restore(o.Episode, o.Recorded); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.episodes[e.token] = e
	return e, nil
}

// close forgets the episode and waits for the turns under way.
func (e *Episode) close() {
	e.server.mu.Lock()
	delete(e.server.episodes, e.token)
	e.server.mu.Unlock()
	e.mu.Lock()
	e.end("", context.Canceled)
	e.mu.Unlock()
	e.taking.Wait()
}

// pages are what there is, and nothing else: no path is cleaned or decoded first.
var pages = regexp.MustCompile(`^/e/([a-z0-9]{26})/v1/(chat/completions|responses|models|models/[A-Za-z0-9@._-]{1,128})/?$`)

// ServeHTTP answers one request. A request without an open episode's token and that episode's key learns nothing else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the last answer's on this connection
	err := s.serve(w, r)
	var no *refusal
	switch {
	case err == nil:
	case errors.As(err, &no) && no.write(w) == nil:
	default:
		panic(http.ErrAbortHandler) // never a plain end, which clients take for a whole answer
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	found := pages.FindStringSubmatch(r.URL.EscapedPath())
	if found == nil {
		return &refusal{http.StatusNotFound, "not_found", "no such page: there are chat/completions, responses and models under an episode's base URL"}
	}
	s.mu.Lock()
	e := s.episodes[found[1]]
	s.mu.Unlock()
	key, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if e == nil || !bearer || !e.allows(key) {
		if n := s.strangers.Add(1); n&(n-1) == 0 { // what a dead agent has left behind may ask on and on
			s.log.Warn("a request to the gateway has no open episode's key", "from", r.RemoteAddr, "requests", n)
		}
		return &refusal{http.StatusUnauthorized, "invalid_api_key", "the key is none of an open episode's"}
	}
	page, model, _ := strings.Cut(found[2], "/")
	if page == "models" {
		return e.models(w, r, model)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "POST only"}
	}
	if err := e.enter(r.Context()); err != nil {
		return err
	}
	defer e.leave()
	q, form, err := s.read(w, r, e, page)
	if err != nil {
		return err
	}
	return e.answer(r.Context(), q, func(a *ask) error {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyTime))
		return form.write(w, q, a)
	})
}

// form writes answers as one of the APIs has them.
type form interface {
	write(w http.ResponseWriter, q question, a *ask) error
}

// read reads a request.
func (s *Server) read(w http.ResponseWriter, r *http.Request, e *Episode, page string) (q question, f form, err error) {
	body, release, err := s.body(w, r)
	if err != nil {
		return q, nil, err
	}
	defer release()
	if page == "chat" {
		q, f, err = readChat(body)
	} else {
		q, f, err = readResponses(body, e)
	}
	again := r.Header.Get("X-Stainless-Retry-Count") // of OpenAI's own clients
	q.again = again != "" && again != "0"
	return q, f, err
}

// body reads a request's body in the time and room that there is. release gives the room back.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	tooLarge := &refusal{http.StatusRequestEntityTooLarge, "request_too_large", "the request is larger than 16 MiB"}
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	release = func() {}
	if r.ContentLength > largeBody || r.ContentLength < 0 {
		select {
		case s.large <- struct{}{}:
			release = func() { <-s.large }
		case <-r.Context().Done():
			return nil, nil, errGone
		}
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime)) // a writer without deadlines is a test's
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	control.SetReadDeadline(time.Time{})
	if err == nil {
		return body, release, nil
	}
	release()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, nil, tooLarge
	}
	return nil, nil, errGone
}

// models lists the one model there is.
func (e *Episode) models(w http.ResponseWriter, r *http.Request, name string) error {
	if r.Method != http.MethodGet {
		return &refusal{http.StatusMethodNotAllowed, "method_not_allowed", "GET only"}
	}
	page := map[string]any{"id": e.Model, "object": "model", "created": 0, "owned_by": "longhaul"}
	switch name {
	case "":
		return writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{page}})
	case e.Model:
		return writeJSON(w, http.StatusOK, page)
	}
	return &refusal{http.StatusNotFound, "model_not_found", "no such model: any name is taken, and means " + e.Model}
}
