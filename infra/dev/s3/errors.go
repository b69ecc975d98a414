package s3

import (
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/rclone/gofakes3"
)

// full is the code of a write for which the disk has no room. The front answers 500 to codes it does not know.
const full gofakes3.ErrorCode = "InsufficientStorage"

// failed turns an error of the disk, the index or the body into an S3 error that tells the reason, which the front
// would else hide behind "Internal Error".
func failed(err error) error {
	var known gofakes3.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.ErrUnexpectedEOF):
		return gofakes3.ErrIncompleteBody
	case noRoom(err):
		return gofakes3.ErrorMessagef(full, "the disk is full: %v", err)
	}
	return gofakes3.ErrorMessagef(gofakes3.ErrInternal, "%v", err)
}

// noRoom looks at the text too, since bbolt does not wrap the error that it fails to grow with.
func noRoom(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) || strings.Contains(err.Error(), e.Error()) {
			return true
		}
	}
	return false
}
