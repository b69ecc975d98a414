package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
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

func (r *refusal) write(w http.ResponseWriter) error {
	kind := "invalid_request_error"
	if r.status == http.StatusUnauthorized {
		kind = "authentication_error"
	}
	return writeJSON(w, r.status, map[string]any{"error": map[string]any{"message": r.say, "type": kind, "code": r.code, "param": nil}})
}

// writeJSON writes an answer in one piece. The error is the client's going away.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of strings and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}
