// Package endpoint is the far end of go-openai: it carries requests to any server of the OpenAI API, bounds what comes
// back, and says of every failure which server it was and what may be done about it. Policies and judges are asked
// through it; what they are asked is theirs.
package endpoint

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/longhaul-rl/longhaul/rl"
)

// MaxReply bounds a response body, in bytes.
const MaxReply = 16 << 20

// Server is one server of the API.
type Server struct {
	Transport http.RoundTripper
	At        string // the boundary that errors name: "policy http://host:8000/v1"
	Secret    string // the key; never repeated, though some servers do
}

// At names a server without what a URL may hide: a password, or a key in its query.
func At(what, raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return what
	}
	return what + " " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Network is a transport that keeps so many connections open: the standard library's keeps two.
func Network(connections int) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, max(connections, 1)
	return t
}

// Reply sends r and reads the whole answer, whose own body is used up. It follows no redirects. A status other than 2xx
// is an *rl.Error: Refused, with ErrContextLimit or ErrConversation where only this conversation is refused, or
// Unavailable, with RetryAfter when the server named one. What went wrong before anything was sent is ErrUnserved, too.
func (s Server) Reply(r *http.Request) (*http.Response, []byte, error) {
	var connecting, sent atomic.Bool // a transport that does not say leaves both as they are
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { connecting.Store(true) }, WroteHeaders: func() { sent.Store(true) },
	}))
	res, err := s.Transport.RoundTrip(r)
	if err != nil && connecting.Load() && !sent.Load() {
		err = Unserved(err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := ReadAll(io.LimitReader(res.Body, MaxReply+1), res.ContentLength)
	if err != nil {
		return nil, nil, fmt.Errorf("half a reply: %w", err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, nil, s.statusError(res.StatusCode, res.Header, body)
	}
	if len(body) > MaxReply {
		return nil, nil, rl.Errorf(rl.Unavailable, s.At, "the reply is larger than %d bytes", MaxReply)
	}
	return res, body, nil
}

// Do is Reply as go-openai's HTTPDoer.
func (s Server) Do(r *http.Request) (*http.Response, error) {
	res, body, err := s.Reply(r)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// ReadAll reads to the end of r, which has size bytes, or -1 when that is not known.
func ReadAll(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, max(0, min(size, MaxReply))+bytes.MinRead))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}
