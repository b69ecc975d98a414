package faults

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/inprocess"
)

// answered counts what reaches the server.
func answered(n *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		io.WriteString(w, "0123456789")
	})
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		do      Fault
		reached int64
		want    string // status and body, or an error
	}{
		"nothing": {nil, 1, "200 0123456789"},
		"refuse":  {Refuse, 0, "connection refused"},
		"lost":    {Lost, 1, "unexpected EOF"},
		"status":  {Status(503, "Retry-After", "7"), 0, `503 <?xml version="1.0"?><Error><Code>Fault503</Code><Message>made by a test</Message></Error>7`},
		"answer":  {Answer(200, "{garbage"), 0, "200 {garbage"},
		"slow":    {Slow(time.Millisecond), 1, "200 0123456789"},
		"hang":    {Hang, 0, "context deadline exceeded"},
		"cut":     {Cut(4), 1, "unexpected EOF after 0123"},
	} {
		t.Run(name, func(t *testing.T) {
			var reached atomic.Int64
			when := Always
			if c.do == nil {
				when = Nth(2)
			}
			p := Of(On("GET", "^/a", when, c.do))
			patience := time.Minute
			if name == "hang" {
				patience = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://x/a", nil)
			res, err := p.Transport(inprocess.Transport{Handler: answered(&reached)}).RoundTrip(r)
			got := ""
			if err == nil {
				b, readErr := io.ReadAll(res.Body)
				got = res.Status[:3] + " " + string(b) + res.Header.Get("Retry-After")
				if readErr != nil {
					got = readErr.Error() + " after " + string(b)
				}
			} else {
				got = err.Error()
			}
			if got != c.want || reached.Load() != c.reached {
				t.Errorf("%q, reached %d; want %q, %d", got, reached.Load(), c.want, c.reached)
			}
		})
	}
}

// As a server's part, over a socket, the client sees the same.
func TestHandler(t *testing.T) {
	var reached atomic.Int64
	p := Of(On("GET", "/lost", Always, Lost), On("GET", "/cut", Always, Cut(4)), On("GET", "/busy", First(1), Status(429, "Retry-After", "20")))
	s := httptest.NewServer(p.Handler(answered(&reached)))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (string, error) {
		res, err := client.Get(s.URL + path)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.Status + " " + res.Header.Get("Retry-After") + string(b), err
	}
	if _, err := get("/lost"); err == nil {
		t.Error("an answer came")
	}
	if _, err := get("/cut"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if got, err := get("/busy"); err != nil || !strings.HasPrefix(got, "429 Too Many Requests 20") {
		t.Error(got, err)
	}
	if got, err := get("/busy"); err != nil || got != "200 OK 0123456789" {
		t.Error(got, err)
	}
	if hits := p.Hits(); hits[0] < 1 || hits[1] != 1 || hits[2] != 1 {
		t.Error(hits)
	}
}

func TestParse(t *testing.T) {
	p, err := Parse("\nPUT /ckpt/ 2 500\nGET . 30% lost\n* x * hang\nGET /a$ 1 slow-5ms\nPUT b 1 kill-after\nPUT b 1 kill-before\nPUT b 1 say\n")
	if err != nil || len(p.rules) != 7 {
		t.Fatal(err)
	}
	for _, bad := range []string{"PUT a 1", "PUT ( 1 lost", "PUT a 0 lost", "PUT a x lost", "PUT a 1 explode", "PUT a 1 200", "PUT a 1 slow-x"} {
		if _, err := Parse(bad); err == nil || !strings.HasPrefix(err.Error(), "faults: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	hit := 0
	some := Share(.3, 1)
	for range 1000 {
		if some(1) {
			hit++
		}
	}
	if hit < 250 || hit > 350 {
		t.Errorf("%d of 1000", hit)
	}
}
