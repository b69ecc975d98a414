package store

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/longhaul-rl/longhaul/rl"
)

// at is where a failure about key happened.
func at(key string) string { return "store " + key }

// failure turns an error of the SDK into an *rl.Error at "store KEY". The server's code and message are kept, its
// headers are not.
func (s *Store) failure(key string, err error) error {
	var invalid smithy.InvalidParamsError
	answer, _ := errors.AsType[*smithyhttp.ResponseError](err)
	switch {
	case strings.Contains(err.Error(), "checksum did not match"): // the SDK's error has no exported type
		return rl.Errorf(rl.Corrupt, at(key), "the bytes are not those that were stored: %w", err)
	case errors.As(err, &invalid):
		return rl.Errorf(rl.Invalid, at(key), "%w", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), answer == nil, answer.HTTPStatusCode() < 300:
		return rl.Errorf(rl.Unavailable, at(key), "no answer from %s: %w", s, err)
	}
	code, message := "", http.StatusText(answer.HTTPStatusCode())
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
		if api.ErrorMessage() != "" {
			message = api.ErrorMessage()
		}
	}
	if code == "NoSuchBucket" {
		return rl.Errorf(rl.NotFound, at(key), "there is no bucket %q: create it, or name another in store", s.bucket)
	}
	if answer.HTTPStatusCode() == http.StatusNotFound {
		message = "there is no such object"
	}
	e := rl.Errorf(kind(answer.HTTPStatusCode(), code), at(key), "%s (%d %s)", message, answer.HTTPStatusCode(), code)
	if seconds, err := strconv.Atoi(answer.Response.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// passing are the codes, of statuses that are else a refusal, that a later try may survive.
var passing = map[string]bool{
	"BadDigest": true, "XAmzContentSHA256Mismatch": true, // damaged on the way
	"RequestTimeout": true, "SlowDown": true, "InternalError": true,
	"ExpiredToken": true, "ExpiredTokenException": true, // credentials are renewed
	"RequestTimeTooSkewed": true, "RequestExpired": true, // a clock is set right
}

// kind says what an HTTP status of S3 means for the caller.
func kind(status int, code string) rl.Kind {
	switch {
	case status == http.StatusNotFound:
		return rl.NotFound
	case status == http.StatusPreconditionFailed:
		return rl.Conflict
	case passing[code]:
		return rl.Unavailable
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return rl.Unavailable
	case status == http.StatusNotImplemented:
		return rl.Refused
	case status >= 500:
		return rl.Unavailable
	}
	return rl.Refused
}
