package inprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// highWater is how many unread bytes a response holds before its handler has to wait for the client.
const highWater = 1 << 20

var errAborted = fmt.Errorf("the handler aborted its answer: %w", io.ErrUnexpectedEOF)

// response is the meeting place of a handler, which writes, and a client, which reads through body.
type response struct {
	ctx    context.Context // of the handler's request; ends with the handler, or when the client goes away
	cancel context.CancelFunc
	stop   func() bool // of the AfterFunc that watches ctx
	head   bool        // a HEAD request: nothing of the body is sent

	header http.Header // the handler's, until the answer starts
	code   int         // 0 until WriteHeader or the first Write

	started chan struct{} // closed when sent and length are fixed, or the handler has ended without an answer
	begun   bool
	sent    http.Header
	length  int64 // declared or known; -1 unknown

	mu      sync.Mutex
	wake    sync.Cond // more bytes, more room, the end, or the client is gone
	unread  bytes.Buffer
	written int64
	ended   bool
	gone    bool // the client closed the body, or its context ended
	err     error
}

func newResponse(ctx context.Context, cancel context.CancelFunc, head bool) *response {
	w := &response{ctx: ctx, cancel: cancel, head: head, header: http.Header{}, started: make(chan struct{})}
	w.wake.L = &w.mu
	w.stop = context.AfterFunc(ctx, w.leave)
	return w
}

// Header is the handler's header map, as in http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader fixes the status. Informational statuses (1xx) are not passed on.
func (w *response) WriteHeader(code int) {
	if w.code != 0 || code < 200 {
		return
	}
	w.code = code
	w.sent, w.length = w.header.Clone(), -1
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
}

// Write appends to the body and waits while the client is highWater bytes behind.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.code == http.StatusNoContent || w.code == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written += int64(len(p)); w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength
	}
	if w.head {
		return len(p), nil
	}
	for w.unread.Len() >= highWater && !w.gone {
		w.begin()
		w.wake.Wait()
	}
	if w.gone {
		return 0, context.Cause(w.ctx)
	}
	w.wake.Broadcast()
	return w.unread.Write(p)
}

// Flush hands to the client what there is, as in http.Flusher.
func (w *response) Flush() {
	w.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin()
}

// begin lets RoundTrip return. The caller holds mu.
func (w *response) begin() {
	if !w.begun {
		w.begun = true
		close(w.started)
	}
}

// finish ends the answer: whole when err is nil and the client was still there. A handler that returns because its
// context ended has not answered, and what it wrote so far must not look whole.
func (w *response) finish(err error) {
	if w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	if err == nil {
		w.WriteHeader(http.StatusOK)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil && !w.begun:
		w.code = 0 // nothing was seen yet: the call itself fails
	case w.head:
		err = nil
	case w.length > w.written:
		err = io.ErrUnexpectedEOF
	case w.length < 0 && !w.begun:
		w.length = w.written
	}
	w.ended, w.err = true, err
	w.begin()
	w.wake.Broadcast()
	w.stop() // from here on the bytes are the client's, whatever becomes of its context
	w.cancel()
}

func (w *response) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// leave tells the handler that nobody reads any more.
func (w *response) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.wake.Broadcast()
}

// body is the client's side of a response.
type body response

// Read gives bytes as they are written, then the handler's error, or io.EOF for a whole answer.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.unread.Len() == 0 && !b.ended && !b.gone {
		b.wake.Wait()
	}
	switch {
	case b.gone:
		return 0, context.Cause(b.ctx)
	case b.unread.Len() > 0:
		b.wake.Broadcast()
		return b.unread.Read(p)
	case b.err != nil:
		return 0, b.err
	}
	return 0, io.EOF
}

// Close ends the handler's request if it still runs.
func (b *body) Close() error {
	b.cancel()
	return nil
}
