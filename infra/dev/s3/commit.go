package s3

import (
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"
)

var errClosed = errors.New("the embedded S3 server is closed")

// committer is the index's only writer: each transaction takes all the changes that queued up during the last one,
// so that many small writes share an fsync. bbolt's own Batch waits a fixed 10 ms instead.
type committer struct {
	db    *bolt.DB
	queue chan change
	stop  chan struct{} // closed to end it
	end   func()        // closes stop, once
	ended chan struct{} // closed when it has
}

// change is one caller's part of a transaction.
type change struct {
	apply func(*bolt.Tx) error // writes nothing when it returns an error
	done  chan error
}

// most is how many changes one transaction takes, which bounds its memory to most x 64 KiB.
const most = 1024

func newCommitter(db *bolt.DB) *committer {
	c := &committer{db: db, queue: make(chan change, most), stop: make(chan struct{}), ended: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.stop) })
	go c.run()
	return c
}

// do returns once apply is durable, or has changed nothing.
func (c *committer) do(apply func(*bolt.Tx) error) error {
	w := change{apply, make(chan error, 1)}
	select {
	case c.queue <- w:
	case <-c.stop:
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-c.ended:
		select {
		case err := <-w.done:
			return err
		default:
			return errClosed // it queued behind the last transaction
		}
	}
}

func (c *committer) run() {
	defer close(c.ended)
	for {
		select {
		case w := <-c.queue:
			c.commit(c.queued(w))
		case <-c.stop:
			return
		}
	}
}

// queued is the first change and those waiting behind it.
func (c *committer) queued(first change) []change {
	batch := []change{first}
	for len(batch) < most {
		select {
		case w := <-c.queue:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

func (c *committer) commit(batch []change) {
	errs := make([]error, len(batch))
	err := guarded(func() error {
		return c.db.Update(func(tx *bolt.Tx) error {
			for i, w := range batch {
				errs[i] = w.apply(tx)
			}
			return nil
		})
	})
	for i, w := range batch {
		if errs[i] == nil {
			errs[i] = err // the transaction failed for all
		}
		w.done <- errs[i]
	}
}

// guarded makes an error of bbolt's panic at a damaged page.
func guarded(use func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the index is damaged: %v", p)
		}
	}()
	return use()
}

// close waits for the transaction in progress; what is still queued is answered errClosed. Closing again is no error.
func (c *committer) close() {
	c.end()
	<-c.ended
}
