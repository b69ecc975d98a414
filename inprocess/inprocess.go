// Package inprocess answers HTTP requests by calling a handler in the same process: a client, its signatures,
// headers and status codes stay as they are, only the socket is gone. The embedded policy server and the embedded
// store are reached through it, which costs a few microseconds a request instead of some fifty.
//
// Transport is an http.RoundTripper and keeps what a network client relies on: a cancelled context ends the call
// at once and cancels the handler's request, a closed response body does too, a handler that aborts
// (http.ErrAbortHandler) or writes less than its Content-Length gives an error and never a short answer that looks
// whole, and a fast writer waits for a slow reader.
//
// See response.go for how a handler's writes reach the client.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// ErrPanic is wrapped by the error of a call whose handler panicked.
var ErrPanic = errors.New("handler panicked")

// Transport calls Handler for every request.
type Transport struct{ Handler http.Handler }

// RoundTrip runs the handler and returns once it has flushed, has written more than the buffer holds, or is done.
// Errors: the context's own, io.ErrUnexpectedEOF for an aborted answer, ErrPanic.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		closeBody(r)
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	w := newResponse(ctx, cancel, r.Method == http.MethodHead)
	q := serverRequest(ctx, r)
	go serve(t.Handler, w, q)
	select {
	case <-w.started:
	case <-r.Context().Done():
		// The handler may have finished in the same moment; only an unanswered call is lost.
		select {
		case <-w.started:
		default:
			cancel()
			return nil, context.Cause(r.Context())
		}
	}
	if w.code == 0 { // ended before it answered
		cancel()
		return nil, w.failure()
	}
	return &http.Response{
		Status: strconv.Itoa(w.code) + " " + http.StatusText(w.code), StatusCode: w.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: (*body)(w), ContentLength: w.length, Request: r,
	}, nil
}

// serverRequest is r as a handler expects it. The handler's context ends when the client goes away.
func serverRequest(ctx context.Context, r *http.Request) *http.Request {
	q := r.Clone(ctx)
	q.RequestURI, q.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	q.Proto, q.ProtoMajor, q.ProtoMinor = "HTTP/1.1", 1, 1
	if q.Host == "" {
		q.Host = r.URL.Host
	}
	if q.Body == nil {
		q.Body = http.NoBody
	}
	return q
}

func serve(h http.Handler, w *response, q *http.Request) {
	var err error
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			err = errAborted
		} else if p != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
		q.Body.Close()
		w.finish(err)
	}()
	h.ServeHTTP(w, q)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}
