package faults

import (
	"io"
	"net/http"

	"github.com/longhaul-rl/longhaul/inprocess"
)

// Transport puts the plan before a client's transport.
func (p *Plan) Transport(next http.RoundTripper) http.RoundTripper { return transport{p, next} }

type transport struct {
	plan *Plan
	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f := t.plan.fault(r)
	if f == nil {
		return t.next.RoundTrip(r)
	}
	if r.Body != nil {
		defer r.Body.Close()
	}
	return f(r, func() (*http.Response, error) { return t.next.RoundTrip(r) })
}

// Handler puts the plan before a server's handler. A request that gets no answer ends its connection.
func (p *Plan) Handler(next http.Handler) http.Handler {
	through := p.Transport(inprocess.Transport{Handler: next})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := through.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer res.Body.Close()
		for name, values := range res.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(res.StatusCode)
		if _, err := io.Copy(w, res.Body); err != nil {
			http.NewResponseController(w).Flush() // what came before the end arrives
			panic(http.ErrAbortHandler)
		}
	})
}
