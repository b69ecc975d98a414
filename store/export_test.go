package store

import (
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// ShortLease makes what is left of a killed gc run out soon.
func ShortLease(t testing.TB) {
	was := sweepLease
	sweepLease = 400 * time.Millisecond
	t.Cleanup(func() { sweepLease = was })
}

// DecodeManifest reads a checkpoint's manifest.
func DecodeManifest(key string, b []byte) (rl.Checkpoint, error) {
	c, err := decode[rl.Checkpoint](key, b)
	if err == nil {
		err = checkManifest(key, c)
	}
	return c, err
}
