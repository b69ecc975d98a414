package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// shortLease is a lease whose end a test can wait for.
const shortLease = 400 * time.Millisecond

// note leaves a note of a gc that is about to remove keys.
func note(t testing.TB, s *store.Store, renewed int, keys ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"schema": "longhaul/sweep/1", "owner": "x", "renewed": renewed, "keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	must[rl.Ref](t)(s.Put(t.Context(), "gc/sweep.json", body))
}

// One gc at a time: a second one gives up when the first is alive, and takes over what a dead one left.
func TestOneGCAtATime(t *testing.T) {
	store.Lease(t, 10*time.Second)
	s := inProcess(t)
	line(t, s, "a", 3)
	note(t, s, 0)
	told, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for i := 1; ; i++ {
			select {
			case <-told:
				return
			case <-time.After(30 * time.Millisecond):
				note(t, s, i)
			}
		}
	}()
	_, err := s.GC(t.Context(), keeping(1))
	is(t, err, rl.Conflict)
	close(told)
	<-over
	store.Lease(t, shortLease)
	began := time.Now()
	must[store.GCReport](t)(s.GC(t.Context(), keeping(1)))
	if waited := time.Since(began); waited < 300*time.Millisecond {
		t.Errorf("it took over after %v", waited)
	}
	_, err = s.Head(t.Context(), "gc/sweep.json")
	is(t, err, rl.NotFound)
}

// A writer waits for a gc that is about to remove what it has stored: until the note is gone, or its gc must be dead. A
// note of other keys does not concern it.
func TestWriterWaitsForGC(t *testing.T) {
	store.Lease(t, 10*time.Second)
	s := inProcess(t)
	c := checkpoint("a", 0, nil, "tokens", 0)
	c.Files = []rl.File{must[rl.File](t)(s.PutFile(t.Context(), "f", []byte("content")))}
	chunk := store.ChunkKey(c.Files[0].Chunks[0])
	put := func() (time.Duration, error) {
		began := time.Now()
		_, err := s.PutCheckpoint(t.Context(), c)
		return time.Since(began), err
	}
	note(t, s, 1, "cas/other")
	if took, err := put(); err != nil || took > 9*time.Second {
		t.Errorf("a note of other keys: %v after %v", err, took)
	}
	store.Lease(t, shortLease)
	note(t, s, 2, "cas/other", chunk)
	if took, err := put(); err != nil || took < 300*time.Millisecond {
		t.Errorf("a note that a dead gc left: %v after %v", err, took)
	}
	store.Lease(t, 10*time.Second)
	note(t, s, 3, chunk)
	time.AfterFunc(100*time.Millisecond, func() {
		if s.Delete(t.Context(), chunk) != nil || s.Delete(t.Context(), "gc/sweep.json") != nil {
			t.Error("the chunk was not removed")
		}
	})
	took, err := put()
	is(t, err, rl.Unavailable)
	if took < 90*time.Millisecond {
		t.Errorf("it waited for %v", took)
	}
}
