package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// How long a server may take to say something, and to do something: an adapter is read from a disk, what is under way is
// finished before a sleep.
const (
	sayTime = 15 * time.Second
	doTime  = 5 * time.Minute
)

// page asks for a page beside the API, whose paths begin at the server's root. Errors are *rl.Error.
func (s *server) page(ctx context.Context, method, page string, in any) ([]byte, error) {
	limit := doTime
	if method == http.MethodGet {
		limit = sayTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, s.server.At, "%s %s: %w", method, page, err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.url, "/v1")+page, body)
	if err != nil {
		return nil, s.server.Failure(err)
	}
	if s.server.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+s.server.Secret)
	}
	r.Header.Set("Content-Type", "application/json")
	_, answer, err := s.server.Reply(r)
	if err != nil {
		return nil, s.server.Failure(err)
	}
	return answer, nil
}

// status is the status of an answer that was a failure; 0: there was none.
func status(err error) int {
	e, _ := errors.AsType[*endpoint.Status](err)
	if e == nil {
		return 0
	}
	return e.Code
}

// get asks what a page says; post has something done there.
func (s *server) get(ctx context.Context, page string) ([]byte, error) {
	return s.page(ctx, http.MethodGet, page, nil)
}

func (s *server) post(ctx context.Context, page string, body any) error {
	_, err := s.page(ctx, http.MethodPost, page, body)
	return err
}
