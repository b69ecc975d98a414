package store

import (
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Lease sets how long a gc that tells nothing is thought to be alive.
func Lease(t testing.TB, d time.Duration) {
	was := sweepLease
	sweepLease = d
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
