package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
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
		{"a gateway's time is up", s.statusError(504, nil, nil), false},
		{"a gateway lost its server", s.statusError(502, nil, nil), false},
		{"not reached", s.Failure(&url.Error{Op: "Post", URL: "http://j/v1", Err: Unserved(dial)}), true},
		{"not reached in time", s.Failure(Unserved(context.DeadlineExceeded)), true},
		{"never sent", Unserved(context.Canceled), true},
		{"cut off", s.Failure(&net.OpError{Op: "read", Err: errors.New("connection reset")}), false},
		{"too slow", s.Failure(context.DeadlineExceeded), false},
		{"half", s.Failure(errors.New("half a reply: unexpected EOF")), false},
	} {
		if got := errors.Is(c.err, ErrUnserved); got != c.want {
			t.Errorf("%s: %v, want %v: %v", c.name, got, c.want, c.err)
		}
	}
	for status, want := range map[int]bool{401: true, 403: true, 404: false, 429: false, 500: false} {
		if err := s.statusError(status, nil, nil); errors.Is(err, ErrKey) != want {
			t.Errorf("%d: %v, want ErrKey: %v", status, err, want)
		}
	}
	if err := s.Failure(dial); rl.KindOf(err) != rl.Unavailable || strings.Contains(err.Error(), "not served") {
		t.Error(err)
	}
}

// A reply of another form is final, and says which field; one that is spoiled is worth another try.
func TestMistyped(t *testing.T) {
	s := Server{At: "judge http://j/v1"}
	var reply struct {
		Choices []struct {
			Tokens []int32 `json:"token_ids"`
		} `json:"choices"`
	}
	for text, want := range map[string]struct {
		kind rl.Kind
		say  string
	}{
		`{"choices":[{"token_ids":"no"}]}`:    {rl.Refused, "its choices.token_ids is of type string"},
		`{"choices":[{"token_ids":["7"]}]}`:   {rl.Refused, "its choices.token_ids is of type string"},
		`{"choices":7}`:                       {rl.Refused, "its choices is of type number"},
		`{"choices":[{"token_ids":[1e99]}]}`:  {rl.Unavailable, "not what the API promises"},
		`"try again"`:                         {rl.Unavailable, "not what the API promises"},
		`{"choices":[{"token_ids":[7]}]} bye`: {rl.Unavailable, "not what the API promises"},
		`{"choices":[{"tok`:                   {rl.Unavailable, "half a reply"},
	} {
		err := s.Failure(json.Unmarshal([]byte(text), &reply))
		if rl.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.say) || !strings.HasPrefix(err.Error(), s.At+": ") {
			t.Errorf("%s: %v, want %s, %q", text, err, want.kind, want.say)
		}
	}
}

// Over a real network: what never left is told from what was cut off.
func TestUnservedOnTheWire(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	for where, want := range map[string]bool{cut.URL: false, secure.URL: true, "http://127.0.0.1:1": true} { // its certificate is unknown; nobody listens
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, where, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		s := Server{Transport: Network(1), At: "judge"}
		_, err = s.Do(r)
		if err = s.Failure(err); errors.Is(err, ErrUnserved) != want || errors.Is(err, ErrNoReply) {
			t.Errorf("%s: %v, want unserved %v", where, err, want)
		}
	}
}
