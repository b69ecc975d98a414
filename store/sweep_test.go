package store_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// lease is how long a gc that tells nothing is thought to be alive. The tests that wait for it do so on a clock that stands while
// anybody works.
const lease = 10 * time.Second

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
	synctest.Test(t, func(t *testing.T) {
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
		began := time.Now()
		must[store.GCReport](t)(s.GC(t.Context(), keeping(1)))
		if waited := time.Since(began); waited < lease || waited > 2*lease {
			t.Errorf("it took over after %v", waited)
		}
		_, err = s.Head(t.Context(), "gc/sweep.json")
		is(t, err, rl.NotFound)
	})
}

// A writer waits for a gc that is about to remove what it has stored: until the note is gone, or its gc must be dead. A
// note of other keys does not concern it.
func TestWriterWaitsForGC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		if took, err := put(); err != nil || took >= lease {
			t.Errorf("a note of other keys: %v after %v", err, took)
		}
		note(t, s, 2, "cas/other", chunk)
		if took, err := put(); err != nil || took < lease {
			t.Errorf("a note that a dead gc left: %v after %v", err, took)
		}
		note(t, s, 3, chunk)
		time.AfterFunc(lease/2, func() {
			if s.Delete(t.Context(), chunk) != nil || s.Delete(t.Context(), "gc/sweep.json") != nil {
				t.Error("the chunk was not removed")
			}
		})
		took, err := put()
		is(t, err, rl.Unavailable)
		if took < lease/2 || took >= lease {
			t.Errorf("it waited for %v", took)
		}
		synctest.Wait()
	})
}
