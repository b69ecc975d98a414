package tiny

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// failure is an answer that is none, in OpenAI's form.
type failure struct {
	status        int
	code, message string
	param         string
}

func (f *failure) Error() string { return f.message }

func badRequest(param, format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...), param}
}

// failureOf is err as the client is told.
func failureOf(err error, model string) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	switch kind := rl.KindOf(err); {
	case errors.Is(err, errClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), kind == rl.Unavailable:
		return &failure{http.StatusServiceUnavailable, "unavailable", err.Error(), ""}
	case kind == rl.NotFound, kind == rl.Invalid && !isVersion(model):
		return &failure{http.StatusNotFound, "model_not_found", fmt.Sprintf("the model %q does not exist: %v", model, err), "model"}
	}
	return &failure{http.StatusInternalServerError, "internal_error", err.Error(), ""}
}

func isVersion(model string) bool {
	_, _, err := rl.Version(model).Parse()
	return err == nil
}

// write sends the failure. The caller has not written anything.
func (f *failure) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(f.status)
	w.Write(f.json())
}

func (f *failure) json() []byte {
	kind := "invalid_request_error"
	if f.status >= 500 {
		kind = "server_error"
	}
	var param *string
	if f.param != "" {
		param = &f.param
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": f.message, "type": kind, "code": f.code, "param": param}})
	if err != nil {
		panic(err) // strings
	}
	return b
}
