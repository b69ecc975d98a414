package rl

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what may be done about a failure. activities/errors.go maps kinds to Temporal's retries.
type Kind string

const (
	Invalid     Kind = "invalid"     // bad input: config, file, reply; the same input fails again
	Refused     Kind = "refused"     // the other side will not do it (401, 400, unknown model); its words are kept
	Unavailable Kind = "unavailable" // try again later (connection, 429, 5xx, deadline)
	Conflict    Kind = "conflict"    // it exists and differs, or another process holds it
	NotFound    Kind = "not_found"   // no such thing
	Corrupt     Kind = "corrupt"     // stored bytes are not what was stored
	Exhausted   Kind = "exhausted"   // a limit that a person has set is reached; a person may raise it
)

// Error is a failure at a named boundary. A failure the model caused is not an Error but an observation.
type Error struct {
	Kind Kind
	// At is the boundary and the thing: "policy http://gpu:8000", "store runs/a/latest", "run.yaml:3:5".
	At  string
	Err error
	// RetryAfter is the other side's own request to wait, 0 when it made none.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.At + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error from a format, which may wrap a cause with %w.
func Errorf(kind Kind, at, format string, args ...any) *Error {
	return &Error{Kind: kind, At: at, Err: fmt.Errorf(format, args...)}
}

// KindOf is the kind of the outermost Error in err's chain, or "" when it holds none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
