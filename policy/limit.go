package policy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
)

// limit bounds the requests in flight at one server: additive increase, multiplicative decrease (Chiu and Jain, 1989). It
// begins at the most there may be. A server that says that it is busy (429) halves it, one whose requests queue takes a
// fifth of it; both count once for all requests that were under way. Each answer within a full limit raises it, by one a
// round of them.
type limit struct {
	mu     sync.Mutex
	most   int     // 0: no bound until the server is busy
	now    float64 // 0: no bound
	flying int
	queue  []chan struct{} // who waits, in order; closed when let in
	closed time.Time       // nobody is let in before
	cut    time.Time       // when now last fell
}

// What is left of the limit when the server is busy, and when requests queue there; and what it may grow to where nothing
// bounds it.
const (
	whenBusy   = 0.5
	whenQueued = 0.8
	unbounded  = 1 << 16
)

// enter waits for a place. Its error is the context's: there is no place to give back then.
func (l *limit) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if len(l.queue) == 0 && l.room() {
		l.flying++
		l.mu.Unlock()
		return nil
	}
	w := make(chan struct{})
	l.queue = append(l.queue, w)
	l.mu.Unlock()
	select {
	case <-w:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	} else { // let in at the same moment
		l.flying--
		l.admit()
	}
	return ctx.Err()
}

// room reports whether one more may enter. mu is held.
func (l *limit) room() bool {
	return (l.now == 0 || l.flying < int(l.now)) && !time.Now().Before(l.closed)
}

// admit lets in whoever may enter. mu is held.
func (l *limit) admit() {
	for len(l.queue) > 0 && l.room() {
		close(l.queue[0])
		l.queue = l.queue[1:]
		l.flying++
	}
}

// leave gives a place back, and takes in how the request ended that began then.
func (l *limit) leave(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch full := l.flying >= int(l.now); {
	case errors.Is(err, endpoint.ErrBusy):
		l.fall(began, whenBusy)
	case err == nil && full && l.now > 0:
		most := float64(l.most)
		if l.most == 0 {
			most = unbounded
		}
		l.now = min(most, l.now+1/l.now)
	}
	l.flying--
	l.admit()
}

// fall lowers the limit to a share of what is in flight, unless it fell since began. mu is held.
func (l *limit) fall(began time.Time, share float64) {
	if began.Before(l.cut) {
		return
	}
	in := float64(l.flying)
	if l.now > 0 {
		in = min(in, l.now)
	}
	l.now, l.cut = max(1, in*share), time.Now()
}

// queued takes in that requests have waited at the server.
func (l *limit) queued(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fall(since, whenQueued)
}

// hold lets nobody in for a while.
func (l *limit) hold(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(d); until.After(l.closed) {
		l.closed = until
		time.AfterFunc(d, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.admit()
		})
	}
}

// load is how many requests are in flight and wait, and the limit.
func (l *limit) load() (flying, waiting, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flying, len(l.queue), int(l.now)
}
