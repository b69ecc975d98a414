package store

import (
	"testing"
	"time"
)

// ShortLease makes what is left of a killed gc run out soon.
func ShortLease(t testing.TB) {
	was := sweepLease
	sweepLease = 400 * time.Millisecond
	t.Cleanup(func() { sweepLease = was })
}
