package tiny

import (
	"slices"
	"sync"
)

// queue hands waiting requests to the lanes, first come first served, in fair shares.
type queue struct {
	lanes int

	mu      sync.Mutex
	more    sync.Cond
	waiting []*job
	live    int // handed to a lane and not finished
	closed  bool
}

func newQueue(lanes int) *queue {
	q := &queue{lanes: lanes}
	q.more.L = &q.mu
	return q
}

// put adds a request; false when the queue is closed.
func (q *queue) put(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, j)
	q.more.Signal()
	return true
}

// drop takes back a request that no lane has yet.
func (q *queue) drop(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *job) bool { return w == j })
}

// take gives a lane that works on some requests more of them, if there is room for it: no more than its share of
// all there are. A lane without work waits. open is false once the queue is closed.
func (q *queue) take(live int) (jobs []*job, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for live == 0 && len(q.waiting) == 0 && !q.closed {
		q.more.Wait()
	}
	if q.closed {
		return nil, false
	}
	share := (q.live + len(q.waiting) + q.lanes - 1) / q.lanes
	n := max(0, min(len(q.waiting), maxLive-live, share-live))
	jobs = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.live += n
	return jobs, true
}

// left says that a lane has finished a request.
func (q *queue) left() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.live--
}

// close ends the queue: waiting requests fail, lanes stop after their step.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, j := range q.waiting {
		j.finish(errClosed)
	}
	q.waiting = nil
	q.more.Broadcast()
}
