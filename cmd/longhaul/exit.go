package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
)

// Exit codes of every command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // wrong usage or config
	exitNotFound    = 3
	exitConflict    = 4 // it exists and differs, or another process holds it
	exitInterrupted = 130
)

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usage(err error) error                   { return usageError{err} }
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode is the only place that maps failures to exit codes. Whether the command was interrupted is known from its
// context: what comes of that in the depth has many names, and a cancelled workflow is no interrupt.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	switch rl.KindOf(err) {
	case rl.Invalid:
		return exitUsage
	case rl.NotFound:
		return exitNotFound
	case rl.Conflict:
		return exitConflict
	}
	return exitFailed
}
