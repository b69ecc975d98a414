package faults

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Always hits every request.
func Always(int) bool { return true }

// Nth hits the n-th request alone.
func Nth(n int) When { return func(i int) bool { return i == n } }

// First hits the first n requests.
func First(n int) When { return func(i int) bool { return i <= n } }

// Share hits a share of the requests, drawn by a seed.
func Share(p float64, seed uint64) When {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64() < p
	}
}

// While hits as long as the condition holds: an outage that a test begins and ends.
func While(on func() bool) When { return func(int) bool { return on() } }

// ErrRefused is what a server that is away gives.
var ErrRefused = errors.New("connection refused")

// Refuse does not reach the server.
func Refuse(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return nil, ErrRefused
}

// Lost has the request executed, and its answer lost.
func Lost(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	if res, err := send(); err == nil {
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	return nil, io.ErrUnexpectedEOF
}

// Status answers in the server's place with an error of the S3 form, and headers as name, value, name, value.
func Status(code int, headers ...string) Fault {
	body := fmt.Sprintf(`<?xml version="1.0"?><Error><Code>Fault%d</Code><Message>made by a test</Message></Error>`, code)
	return Answer(code, body, append([]string{"Content-Type", "application/xml"}, headers...)...)
}

// Answer answers in the server's place: garbage, the wrong model, a 429 with Retry-After.
func Answer(code int, body string, headers ...string) Fault {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		h := http.Header{"Content-Length": {strconv.Itoa(len(body))}}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{
			Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
}

// Slow passes the request on after a while.
func Slow(d time.Duration) Fault {
	return func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		select {
		case <-time.After(d):
			return send()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// Hang never answers.
func Hang(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body) // a server hears of a client that went away only then
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Cut ends the answer's body after n bytes, as a connection does that breaks.
func Cut(n int64) Fault {
	return func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		res, err := send()
		if err == nil {
			res.Body = cut{io.LimitReader(res.Body, n), res.Body}
		}
		return res, err
	}
}

type cut struct {
	io.Reader
	io.Closer
}

func (c cut) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// KillBefore kills this process before the request is sent: its effect never was.
func KillBefore(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return kill() }

// KillAfter kills this process once the request is answered: its effect is there, and nobody heard of it.
func KillAfter(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	send()
	return kill()
}

func kill() (*http.Response, error) {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {} // until it takes effect
}

// Say writes how long after a start the request came, and passes it on.
func Say(w io.Writer, start time.Time) Fault {
	return func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		fmt.Fprintf(w, "faults: %s %s after %.3f s\n", r.Method, r.URL.Path, time.Since(start).Seconds())
		return send()
	}
}
