package activities

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/longhaul-rl/longhaul/rl"
)

// retryable says which kinds of failure a later attempt may survive. This is the only place that decides it.
var retryable = map[rl.Kind]bool{
	rl.Unavailable: true,
	rl.Invalid:     false,
	rl.Refused:     false,
	rl.Conflict:    false,
	rl.NotFound:    false,
	rl.Corrupt:     false,
	rl.Exhausted:   false,
}

// maxMessage bounds what an error may put into history, in bytes.
const maxMessage = 1024

// temporalError turns a stage's error into what Temporal acts on: its type is the kind, permanent kinds end the
// stage at once, and a server's own Retry-After is honoured. Errors without a kind are retried: they are ours or
// the machine's, and the retry policy's backoff makes them visible without losing the run.
func temporalError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // the worker stops or the workflow was cancelled
		return errors.Join(ctx.Err(), err)
	}
	message := words(err)
	kind := rl.KindOf(err)
	retry, known := retryable[kind]
	options := temporal.ApplicationErrorOptions{NonRetryable: known && !retry}
	if e, ok := errors.AsType[*rl.Error](err); ok {
		options.NextRetryDelay = e.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(message, string(kind), options)
}

// TemporalError is what Temporal acts on, of the error of an activity that is not a stage. See temporalError.
func TemporalError(ctx context.Context, err error) error { return temporalError(ctx, err) }

// words are an error's, cut to maxMessage.
func words(err error) string {
	message := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + " ..."
	}
	return message
}

// KindOf is the kind of the failure that ended an activity, as a workflow sees it.
func KindOf(err error) rl.Kind {
	if e, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return rl.Kind(e.Type())
	}
	return ""
}
