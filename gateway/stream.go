package gateway

import (
	"encoding/json"
	"io"
	"net/http"
)

// stream writes server-sent events. What it writes has been recorded as a whole: a stream breaks off only with its client.
type stream struct {
	w   http.ResponseWriter
	err error // the first
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{w: w}
}

// event writes an event with data; name may be empty.
func (s *stream) event(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // made of strings and numbers
	}
	if name != "" {
		s.line("event: " + name + "\n")
	}
	s.line("data: " + string(b) + "\n\n")
}

func (s *stream) line(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
}
