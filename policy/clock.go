package policy

import (
	"context"
	"sync"
	"time"
)

// Within is ctx that ends after d, as with context.WithTimeout, except that its clock stands still while a request under
// it waits for a paused server or for its turn: that time is not the policy's, and not the episode's. 0: it never ends by
// itself. Its Deadline is ctx's, since its own may move.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	c := &clock{left: d}
	c.outer, _ = ctx.Value(clockKey{}).(*clock)
	c.Context, c.end = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	return c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		c.end(context.Canceled)
	}
}

type clockKey struct{}

// clock is a context that ends after some time, which can be stopped.
type clock struct {
	context.Context
	outer *clock // of the context it was made from
	end   context.CancelCauseFunc

	mu    sync.Mutex
	left  time.Duration // when it last began to run
	since time.Time     // when that was
	stops int           // it runs at 0
	timer *time.Timer
}

// Err is DeadlineExceeded once the time is over.
func (c *clock) Err() error {
	if err := c.Context.Err(); err == nil || context.Cause(c.Context) != context.DeadlineExceeded {
		return err
	}
	return context.DeadlineExceeded
}

// Value finds the clock.
func (c *clock) Value(key any) any {
	if key == (clockKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// run lets the clock run. mu is held.
func (c *clock) run() {
	c.since = time.Now()
	c.timer = time.AfterFunc(c.left, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stops == 0 && time.Since(c.since) >= c.left {
			c.end(context.DeadlineExceeded)
		}
	})
}

// stop stops the clocks that ctx is under, until resume, which may be called more than once.
func stop(ctx context.Context) (resume func()) {
	first, _ := ctx.Value(clockKey{}).(*clock)
	for c := first; c != nil; c = c.outer {
		c.mu.Lock()
		if c.stops++; c.stops == 1 {
			c.timer.Stop()
			c.left -= time.Since(c.since)
		}
		c.mu.Unlock()
	}
	return sync.OnceFunc(func() {
		for c := first; c != nil; c = c.outer {
			c.mu.Lock()
			if c.stops--; c.stops == 0 {
				c.run()
			}
			c.mu.Unlock()
		}
	})
}
