package tinker

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/infra/simtinker"
	"github.com/longhaul-rl/longhaul/inprocess"
)

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
	*simtinker.Service
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

// asked are the requests so far.
func (r *road) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

var errCut = errors.New("connection reset by peer")

func (r *road) RoundTrip(q *http.Request) (*http.Response, error) {
	to := inprocess.Transport{Handler: r.Service}
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
		r.Stop()
		res, err := to.RoundTrip(q)
		time.AfterFunc(20*time.Second, r.Kill)
		return res, err
	case after:
		res, err := to.RoundTrip(q)
		r.Kill()
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
		http.Error(w, `{"detail": "no such key: `+r.key+`"}`, http.StatusUnauthorized)
	})}.RoundTrip(q)
}
