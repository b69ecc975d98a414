package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// segments are the keys of a run's journal of update 1.
func segments(t testing.TB, s *store.Store, run rl.RunID) (keys []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), store.JournalPrefix(run, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

func took(task rl.TaskID, member, turn int, says string) rl.Entry {
	e := rl.Entry{Member: rl.Member{Task: task, Member: member}, Fence: 1, Index: turn, Turn: &rl.Recorded{Earned: .5, Snapshot: []byte{1, 2}}}
	e.Turn.Action = rl.Action{Message: rl.Message{Role: rl.Assistant, Content: says}, Tokens: []int32{7}, LogProbs: []float32{-.25}}
	return e
}

var everyTask = map[rl.TaskID]bool{"a": true, "b": true}

// Turns of many episodes share segments, and whoever opens the journal reads them: this process, another, a later one.
func journal(t *testing.T, s *store.Store) {
	const episodes, turns = 24, 5
	j := s.Journal(store.JournalPrefix("a", 1))
	var wg sync.WaitGroup
	for m := range episodes {
		wg.Go(func() {
			for i := range turns {
				if err := j.Append(t.Context(), took("a", m, i, fmt.Sprint(m, ".", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	is(t, j.Append(t.Context(), rl.Entry{Member: rl.Member{Task: "a"}, Fence: 1, Index: turns - 1, Call: 2, Result: &rl.CallResult{Content: "paid", Done: true, Reward: 1}}), "")
	is(t, j.Append(t.Context(), took("b", 0, 0, "other")), "")
	if n := len(segments(t, s, "a")); n > episodes*turns/3 {
		t.Errorf("%d turns lie in %d segments", episodes*turns, n)
	}
	for name, j := range map[string]*store.Journal{"the writer": j, "another": s.Journal(store.JournalPrefix("a", 1))} {
		for range 2 {
			got, damage, err := j.Load(t.Context(), map[rl.TaskID]bool{"a": true})
			if err != nil || len(damage) > 0 || len(got) != episodes {
				t.Fatalf("%s: %d episodes, %v, %v", name, len(got), damage, err)
			}
			for m, e := range got {
				if len(e.Turns) != turns || e.Turns[3].Action.Message.Content != fmt.Sprint(m.Member, ".", 3) || e.Turns[1].Earned != .5 || len(e.Turns[1].Snapshot) != 2 {
					t.Errorf("%s: %v: %+v", name, m, e)
				}
			}
			if r := got[rl.Member{Task: "a"}].Turns[turns-1].Results; len(r) != 1 || r[2] != (rl.CallResult{Content: "paid", Done: true, Reward: 1}) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	// What another writer adds later is seen.
	other := s.Journal(store.JournalPrefix("a", 1))
	is(t, other.Append(t.Context(), took("a", 0, turns, "more")), "")
	got, _, err := j.Load(t.Context(), everyTask)
	if is(t, err, ""); len(got[rl.Member{Task: "a"}].Turns) != turns+1 {
		t.Errorf("%+v", got[rl.Member{Task: "a"}])
	}
}

// A damaged segment is named, and counts as never written.
func damagedSegment(t *testing.T, s *store.Store) {
	for i := range 3 {
		is(t, s.Journal(store.JournalPrefix("a", 1)).Append(t.Context(), took("a", 0, i, "x")), "")
	}
	var second string
	for _, key := range segments(t, s, "a") {
		if body := must[[]byte](t)(s.Get(t.Context(), key)); strings.Contains(string(body), `"turn":1`) {
			second = key
			must[rl.Ref](t)(s.Put(t.Context(), key, []byte(strings.Replace(string(body), "-0.25", "-0.26", 1))))
		}
	}
	got, damage, err := s.Journal(store.JournalPrefix("a", 1)).Load(t.Context(), everyTask)
	is(t, err, "")
	if len(damage) != 1 || damage[0].Key != second || !strings.Contains(damage[0].Why, "not those that were written") || len(got[rl.Member{Task: "a"}].Turns) != 1 {
		t.Fatalf("%v, %+v", damage, got)
	}
}

// The end of one episode fails nobody else's turns; a store that is down fails those that it was down for.
func TestJournalFailures(t *testing.T) {
	h := server(t, t.TempDir())
	var mu sync.Mutex
	down := false
	s := through(t, transport(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return nil, errors.New("no route")
		}
		return inprocess.Transport{Handler: h}.RoundTrip(r)
	}))
	j := s.Journal(store.JournalPrefix("a", 1))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Append(gone, took("a", 0, 0, "x")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	is(t, j.Append(t.Context(), took("a", 1, 0, "y")), "")
	mu.Lock()
	down = true
	mu.Unlock()
	is(t, j.Append(t.Context(), took("a", 1, 1, "y")), rl.Unavailable)
	_, _, err := j.Load(t.Context(), everyTask)
	is(t, err, rl.Unavailable)
	mu.Lock()
	down = false
	mu.Unlock()
	is(t, j.Append(t.Context(), took("a", 1, 1, "y")), "")
	got, _, err := j.Load(t.Context(), everyTask)
	if is(t, err, ""); len(got[rl.Member{Task: "a", Member: 1}].Turns) != 2 {
		t.Errorf("%+v", got)
	}
}

func FuzzDecodeSegment(f *testing.F) {
	f.Add([]byte(`{"schema":"longhaul/journal/1","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}` + "\n"))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if entries, err := store.DecodeSegment("k", b); err != nil && (rl.KindOf(err) != rl.Corrupt || entries != nil) {
			t.Fatal(entries, err)
		}
	})
}
