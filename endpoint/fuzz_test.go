package endpoint

import (
	"net/http"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// Whatever a server answers, its refusal has a kind, keeps few of its words, none of them the key, and asks for a wait that ends.
func FuzzRefusal(f *testing.F) {
	f.Add(400, "", `{"error":{"message":"maximum context length is 64","code":"context_length_exceeded"}}`)
	f.Add(429, "1.5", `{"error":"slow down"}`)
	f.Add(503, "Mon, 30 Nov 2026 12:00:00 GMT", `<html>`)
	f.Add(401, "", `{"detail":"the key sk-very-secret is wrong"}`)
	f.Add(404, "-1", `{"message":"The model x does not exist","type":5}`)
	f.Add(500, "NaN", "\xff{\"error\":{\"code\":[]}}")
	f.Add(500, "1e300", "null")
	s := Server{At: "policy http://x", Secret: "sk-very-secret"}
	f.Fuzz(func(t *testing.T, status int, retry, body string) {
		e := s.statusError(status, http.Header{"Retry-After": {retry}}, []byte(body))
		if e.Kind != rl.Refused && e.Kind != rl.Unavailable {
			t.Errorf("kind %q", e.Kind)
		}
		if text := e.Error(); strings.Contains(text, s.Secret) || len(text) > 2*maxWords {
			t.Errorf("%d bytes: %.200q", len(text), text)
		}
		if e.RetryAfter < 0 || e.RetryAfter > maxWait {
			t.Errorf("a wait of %v", e.RetryAfter)
		}
	})
}
