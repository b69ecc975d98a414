package policy

import (
	"io"
	"net/http"
	"strings"
)

// fixed answers everything with one status and body.
type fixed struct {
	status int
	body   string
}

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}
