package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// status is an answer of an HTTP server that is none of its session's: the SDK would take the error in its body for a tool's.
type status struct{ code int }

func (s *status) Error() string { return fmt.Sprintf("%d %s", s.code, http.StatusText(s.code)) }

// key is the key of the configuration that is at fault when a session is answered so; empty: the server is, and later it may not be.
func (s *status) key() string {
	switch {
	case s.code == http.StatusUnauthorized || s.code == http.StatusForbidden:
		return "env.mcp.headers"
	case s.code == http.StatusRequestTimeout || s.code == http.StatusTooEarly || s.code == http.StatusTooManyRequests || s.code >= 500:
		return ""
	}
	return "env.mcp.url"
}

// carrier adds the configured headers to each request. Requests never leave the server's host with them: redirects are not
// followed.
type carrier struct {
	headers http.Header
	network http.RoundTripper
}

func (c carrier) client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip implements http.RoundTripper.
func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.headers {
		r.Header[name] = values
	}
	res, err := c.network.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return res, err
	}
	if res.StatusCode >= 300 {
		res.Body.Close()
		return nil, &status{res.StatusCode}
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // whose events the SDK bounds
		err = bound(r, res)
	}
	return res, err
}

// bound reads an answer that is one message, which the SDK would do whatever its size. In the place of one that is too large there is an
// error, as over stdio.
func bound(r *http.Request, res *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(res.Body, maxFrame+1))
	res.Body.Close()
	if err != nil {
		return err
	}
	if len(b) > maxFrame {
		var asked struct{ ID json.RawMessage }
		if question, err := r.GetBody(); err != nil || json.NewDecoder(question).Decode(&asked) != nil {
			return fmt.Errorf("the answer has more than %d bytes", maxFrame)
		}
		b = instead(asked.ID, tooLarge)
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return nil
}
