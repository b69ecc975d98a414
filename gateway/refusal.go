package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// refusal is an answer that is none, in OpenAI's form.
type refusal struct {
	status int
	code   string
	say    string
}

func (r *refusal) Error() string { return r.say }

// invalid refuses a request that the agent should not send.
func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...)}
}

func (r *refusal) write(w http.ResponseWriter) {
	kind := "invalid_request_error"
	switch r.status {
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	}
	writeJSON(w, r.status, map[string]any{"error": map[string]any{"message": r.say, "type": kind, "code": r.code, "param": nil}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}
