package dev

import (
	"fmt"
	"time"
)

// A clock that is set back by more than tolerated is told of, within clockEvery.
const (
	clockEvery = time.Second
	tolerated  = 5 * time.Second
)

// watchClock tells when the clock is set back after the time from. Nothing is lost by that, but Temporal keeps the moments until which it has put
// something off, and they come later then.
func (d *Dev) watchClock(from time.Time) {
	done := make(chan struct{})
	d.stops = append(d.stops, func() error { close(done); return nil })
	go func() {
		tick := time.NewTicker(clockEvery)
		defer tick.Stop()
		for last := from; ; {
			now := time.Now()
			if back := setBack(last, now); back > tolerated {
				d.log.Warn(fmt.Sprintf("the clock was set back by %s: retries and timeouts that are due already or soon wait until the clock is there again", back.Round(time.Second)))
			}
			last = now
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
}

// setBack is by how much the wall clock went less than the monotonic clock between two readings; less than zero where it was set
// forward, or the machine slept.
func setBack(then, now time.Time) time.Duration {
	return now.Sub(then) - now.Round(0).Sub(then.Round(0))
}
