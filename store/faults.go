package store

import (
	"errors"

	"github.com/longhaul-rl/longhaul/rl"
)

// Fault is a stored object that is not what it should be.
type Fault struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

// fault describes an error about key, without naming the key a second time.
func fault(key string, err error) Fault {
	if e, ok := errors.AsType[*rl.Error](err); ok && e.At == at(key) {
		err = e.Err
	}
	return Fault{Key: key, Why: err.Error()}
}
