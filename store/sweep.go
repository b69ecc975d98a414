package store

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// How gc and the writers keep out of each other's way. gc removes what nothing refers to. At the same moment a writer
// may find that object there, leave it as it is, and record something that refers to it. A grace period does not close
// that gap, since the object may be old. So each says what it does before it looks at what the other does:
//
//	gc:      1. notes which keys it is about to remove     writer:  1. stores an object, or finds it there
//	         2. looks once more what is referred to                 2. records what refers to it
//	         3. removes the keys to which nothing does              3. waits while a note names it
//	         4. removes its note                                    4. makes sure that it is there
//
// Either the writer's record (2) is there when gc looks (2), and gc leaves the object alone; or gc's note (1) was there
// before, and the writer waits (3) and sees whether the object is gone (4). It then fails with Unavailable, and the next
// try stores the object again. This needs no grace period, which only spares writers that second try, and no two clocks
// that agree. One time is relied on: gc renews its note while it works and removes nothing later than half a lease after
// it has, and a writer takes gc for dead once it has seen the same note for a whole lease.
const sweepLease = 10 * time.Second

// sweepKey is where the note lies; it is also the lock of gc.
const sweepKey = "gc/sweep.json"

// sweepNote says what a gc is about to remove.
type sweepNote struct {
	Schema  string   `json:"schema"`
	Owner   string   `json:"owner"`   // tells one gc from another
	Renewed int      `json:"renewed"` // times
	Keys    []string `json:"keys"`
}

const sweepSchema = "longhaul/sweep/1"

// sweeper is the one gc that removes things from a store.
type sweeper struct {
	store *Store
	stop  context.CancelFunc // of renewals

	mu    sync.Mutex
	note  sweepNote
	at    condition // that the note is as this sweeper left it
	since time.Time // when the note was last written, at the earliest
	lost  error     // why the note is no longer ours
}

// startSweep takes the lock. One that a dead gc left is taken over after a lease. Errors: Conflict when another gc is at
// work, else as Get.
func (s *Store) startSweep(ctx context.Context) (*sweeper, error) {
	w := &sweeper{store: s, at: onlyNew, note: sweepNote{Schema: sweepSchema, Owner: rand.Text()}}
	var seen string
	var first time.Time
	for {
		err := w.write(ctx, nil)
		if err == nil {
			break
		}
		if rl.KindOf(err) != rl.Conflict {
			return nil, err
		}
		body, etag, err := s.get(ctx, sweepKey)
		switch kind := rl.KindOf(err); {
		case kind == rl.NotFound:
			w.at = onlyNew
			continue
		case err != nil && kind != rl.Corrupt:
			return nil, err
		}
		switch now := SHA256(body); {
		case seen == "":
			seen, first = now, time.Now()
		case seen != now:
			return nil, rl.Errorf(rl.Conflict, at(sweepKey), "another gc is at work on this store")
		case time.Since(first) > sweepLease:
			w.at = ifMatch(etag)
			continue
		}
		if err := pause(ctx, sweepLease/20); err != nil {
			return nil, err
		}
	}
	renewing, stop := context.WithCancel(ctx)
	w.stop = stop
	go w.renew(renewing)
	return w, nil
}

// write notes the keys. The caller does not hold mu.
func (w *sweeper) write(ctx context.Context, keys []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note.Keys = keys
	return w.noted(ctx)
}

// noted writes the note as it stands. The caller holds mu.
func (w *sweeper) noted(ctx context.Context) error {
	if w.lost != nil {
		return w.lost
	}
	w.note.Renewed++
	body, err := encode(sweepKey, w.note)
	if err != nil {
		return err
	}
	began := time.Now()
	err = w.store.put(ctx, RefOf(sweepKey, body), body, w.at)
	if err != nil && rl.KindOf(err) != rl.Conflict {
		return err
	}
	now, etag, readErr := w.store.get(ctx, sweepKey)
	if readErr == nil && SHA256(now) == SHA256(body) { // also when the answer to our own write was lost
		w.at, w.since = ifMatch(etag), began
		return nil
	}
	if err == nil && readErr == nil {
		err = rl.Errorf(rl.Conflict, at(sweepKey), "another gc has taken over")
	}
	return errors.Join(err, readErr)
}

// renew keeps the note ours while gc looks and removes.
func (w *sweeper) renew(ctx context.Context) {
	for pause(ctx, sweepLease/4) == nil {
		w.mu.Lock() // the keys of the moment, or a batch that was noted meanwhile would be forgotten
		err := w.noted(ctx)
		if rl.KindOf(err) == rl.Conflict {
			w.lost = err
		}
		w.mu.Unlock()
		if rl.KindOf(err) == rl.Conflict {
			return
		}
	}
}

// sweep removes those of the keys that are still unneeded once all of them are noted, and returns them.
func (w *sweeper) sweep(ctx context.Context, keys []string, unneeded func(context.Context) (map[string]bool, error), remove func(context.Context, string) error) (removed []string, err error) {
	for batch := range slices.Chunk(keys, 1000) {
		if err := w.write(ctx, batch); err != nil {
			return removed, err
		}
		may, err := unneeded(ctx)
		if err != nil {
			return removed, err
		}
		batch = slices.DeleteFunc(slices.Clone(batch), func(key string) bool { return !may[key] })
		err = each(len(batch), readers, func(i int) error {
			left, err := w.left()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, left)
			defer cancel()
			return remove(ctx, batch[i])
		})
		if err != nil {
			return removed, err
		}
		removed = append(removed, batch...)
	}
	return removed, nil
}

// left is how long the note still allows removing what it names.
func (w *sweeper) left() (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := sweepLease/2 - time.Since(w.since)
	if w.lost == nil && left <= 0 {
		return 0, rl.Errorf(rl.Unavailable, at(sweepKey), "the store is too slow: the note could not be renewed within %s", sweepLease/2)
	}
	return left, w.lost
}

// end gives the lock back. One that cannot be given back runs out.
func (w *sweeper) end(ctx context.Context) {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		_ = w.store.Delete(context.WithoutCancel(ctx), sweepKey)
	}
}

// pause sleeps; the error is ctx's own.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
