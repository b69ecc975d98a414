package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/safetensors"
	"github.com/longhaul-rl/longhaul/tinker"
)

// wrong is what goes wrong with a call.
type wrong int

const (
	lose   wrong = iota + 1 // it is served, its answer is lost
	repeat                  // it is delivered twice, the second answer comes back
	kill                    // the service is killed once it has accepted it, and started again
)

// road is a proxy on the way to the service.
type road struct {
	url    string
	engine *engine

	mu     sync.Mutex
	counts map[string]int // of calls since the last thing that went wrong
	plan   []plan
}

// plan is what goes wrong with the nth call of a kind.
type plan struct {
	what  string
	nth   int
	wrong wrong
}

func newRoad(e *engine) (*road, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &road{url: "http://" + l.Addr().String(), engine: e, counts: map[string]int{}}
	go http.Serve(l, r)
	return r, nil
}

// on sets what goes wrong from now on, one thing after another.
func (r *road) on(plans ...plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.plan = map[string]int{}, plans
}

// met reports whether all of it has gone wrong.
func (r *road) met() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.plan) == 0
}

func (r *road) next(what string) wrong {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
	if len(r.plan) == 0 || what != r.plan[0].what || r.counts[what] != r.plan[0].nth {
		return 0
	}
	w := r.plan[0].wrong
	r.counts, r.plan = map[string]int{}, r.plan[1:]
	return w
}

// ServeHTTP passes a request on.
func (r *road) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	what := strings.TrimPrefix(q.URL.Path, "/api/v1/")
	goes := r.next(what)
	res, answer, err := pass(q, body)
	switch goes {
	case repeat:
		res, answer, err = pass(q, body)
	case kill:
		r.engine.kill()
		go func() {
			if err := r.engine.start(); err != nil {
				fmt.Println("  starting it again:", err)
			}
		}()
	case lose:
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	w.Write(answer)
}

func pass(q *http.Request, body []byte) (res *http.Response, answer []byte, err error) {
	on, err := http.NewRequestWithContext(q.Context(), q.Method, "http://127.0.0.1:"+port+q.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	on.Header = q.Header.Clone()
	if res, err = http.DefaultTransport.RoundTrip(on); err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res, answer, err
}

// weights are an adapter's, by tensor.
type weights map[string][]float32

// weights are what the service keeps under a sampler's path.
func (r *road) weights(ctx context.Context, s tinker.Saved) (w weights, err error) {
	err = tinker.New(tinker.Options{URL: r.url}).Adapter(ctx, s.Sampler, func(name string, content io.Reader) error {
		b, err := io.ReadAll(content)
		if err == nil && name == adapter.WeightsFile {
			w, err = decoded(b)
		}
		return err
	})
	return w, err
}

// decoded reads adapter_model.safetensors.
func decoded(b []byte) (weights, error) {
	_, tensors, err := safetensors.Decode(b)
	w := weights{}
	for _, x := range tensors {
		if w[x.Name], err = x.Float32s(); err != nil {
			return nil, err
		}
	}
	return w, err
}

// from is the greatest difference of a weight; not a number where these are not the same tensors.
func (w weights) from(o weights) (most float64) {
	if len(w) == 0 || len(w) != len(o) {
		return math.NaN()
	}
	for name, a := range w {
		b := o[name]
		if len(a) != len(b) {
			return math.NaN()
		}
		for i := range a {
			most = max(most, math.Abs(float64(a[i])-float64(b[i])))
		}
	}
	return most
}
