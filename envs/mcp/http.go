package mcp

import (
	"fmt"
	"net/http"
)

// status is an answer of an HTTP server that is none of its session's: the SDK would take the error in its body for a tool's.
type status struct{ code int }

func (s *status) Error() string { return fmt.Sprintf("%d %s", s.code, http.StatusText(s.code)) }

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
	if err == nil && res.StatusCode >= 300 && r.Method == http.MethodPost {
		res.Body.Close()
		return nil, &status{res.StatusCode}
	}
	return res, err
}
