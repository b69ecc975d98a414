package endpoint

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2015, 10, 21, 7, 28, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0, "1e300": maxWait,
		"Wed, 21 Oct 2015 07:28:09 GMT": 9 * time.Second, "Wed, 21 Oct 2015 07:27:00 GMT": 0, "Wed, 21 Oct 2099 07:27:00 GMT": maxWait,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

// What was certainly not served is told from what nobody knows of.
func TestUnserved(t *testing.T) {
	s := Server{At: "judge http://j/v1"}
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"refused", s.statusError(401, nil, []byte("no")), true},
		{"busy", s.statusError(429, http.Header{"Retry-After": {"7"}}, nil), true},
		{"failing", s.statusError(500, nil, nil), true},
		{"not reached", s.Failure(&url.Error{Op: "Post", URL: "http://j/v1", Err: dial}), true},
		{"never sent", Unserved(context.Canceled), true},
		{"cut off", s.Failure(&net.OpError{Op: "read", Err: errors.New("connection reset")}), false},
		{"too slow", s.Failure(context.DeadlineExceeded), false},
		{"half", s.Failure(errors.New("half a reply: unexpected EOF")), false},
	} {
		if got := errors.Is(c.err, ErrUnserved); got != c.want {
			t.Errorf("%s: %v, want %v: %v", c.name, got, c.want, c.err)
		}
	}
	if err := s.Failure(dial); rl.KindOf(err) != rl.Unavailable || strings.Contains(err.Error(), "not served") {
		t.Error(err)
	}
}
