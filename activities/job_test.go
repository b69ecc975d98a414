package activities

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

func TestTailIsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "all")
		n := rapid.IntRange(1, 20).Draw(t, "n")
		got, err := tail(iotest.HalfReader(bytes.NewReader(all)), n)
		if want := all[max(0, len(all)-n):]; err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
	lost := errors.New("lost")
	if _, err := tail(iotest.ErrReader(lost), 3); !errors.Is(err, lost) {
		t.Error(err)
	}
}

// What only tells of a job decides nothing where it is damaged.
func TestJobWithDamagedRecords(t *testing.T) {
	b := open(t)
	key := strings.Repeat("d", 64)
	w := &jobWatch{store: b.store, job: launch.Job{Key: key}}
	for name, body := range map[string]string{store.JobAttemptKey(key, 1): "{ what", store.JobAttemptKey(key, 2): `{"attempt": "two"}`, store.JobProgressKey(key): `{"attempt": 3, "done": "much"}`} {
		if _, err := b.store.Put(t.Context(), name, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.keep(t.Context(), launch.Status{Attempt: 3, State: launch.Lost, Exit: -1, Ran: time.Minute}, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := w.next(t.Context(), launch.Status{}); err != nil || n != 4 {
		t.Errorf("the next is %d, %v", n, err)
	}
	if u, err := w.use(t.Context(), rl.UpdateResult{}); err != nil || u.Attempts != 3 || u.RanSeconds != 60 {
		t.Errorf("%+v, %v", u, err)
	}
	if err := w.failure(t.Context(), launch.Status{Attempt: 3, State: launch.Lost, Why: "killed"}); rl.KindOf(err) != rl.Unavailable {
		t.Error(err)
	}
}

// What an attempt's end means: who is asked, how soon the next may begin, and in whose words.
func TestJobFailures(t *testing.T) {
	const late = -2 // killed after two hours
	st := open(t).store
	for i, c := range []struct {
		name string
		ends []int // exit codes, the last one's last
		told *rl.JobError
		log  string
		kind rl.Kind
		says string
		rest bool
	}{
		{"killed", []int{-1}, nil, "half a li", rl.Unavailable, "attempt 1 was lost: it was killed: half a li", false},
		{"killed again and again", []int{-1, -1, -1, -1}, nil, "", rl.Unavailable, "attempt 4 was lost: it was killed", true},
		{"told to end", []int{75, 143}, nil, "", rl.Unavailable, "attempt 2 was lost: exit", false},
		{"gave up", []int{75}, &rl.JobError{Kind: rl.Unavailable, Message: "no answer"}, "x\n", rl.Unavailable, "exit: no answer", true},
		{"no such module", []int{1}, nil, "Traceback\nModuleNotFoundError: torch\n\n", rl.Unavailable, "exit: ModuleNotFoundError: torch", true},
		{"a progress bar", []int{1}, nil, "loading\n 1 %\r 50 %\r 99 %\r", rl.Unavailable, "exit: 99 %", true},
		{"gave up for long", []int{75, 75, 1, 1, 75, 75, 75, 75}, nil, "", rl.Refused, "exit (and so 8 times in a row)", true},
		{"gave up, and was killed in between", []int{75, 75, 1, 1, -1, 75, 75, 75, 75}, nil, "", rl.Unavailable, "attempt 9 was lost: exit", true},
		{"cannot", []int{42}, &rl.JobError{Kind: rl.Invalid, Message: "such a loss"}, "", rl.Refused, "attempt 1 failed: exit: such a loss", true},
		{"a damaged base", []int{42}, &rl.JobError{Kind: rl.Corrupt, Message: "a chunk"}, "", rl.Corrupt, "exit: a chunk", true},
		{"a base that is gone", []int{42}, &rl.JobError{Kind: rl.NotFound, Message: "a chunk"}, "", rl.NotFound, "exit: a chunk", true},
		{"nothing left", []int{0}, nil, "", rl.Unavailable, "attempt 1 ended well: it left no result", true},
		{"nothing left for long", []int{0, 0, 0, 0, 0, 0, 0, 0}, nil, "", rl.Refused, "attempt 8 ended well: it left no result (and so 8 times in a row)", true},
		{"ended by its place, late", []int{late}, nil, "", rl.Exhausted, "attempt 1 was lost: it has run for 2h0m0s, longer than update.timeout, 1h0m0s", false},
	} {
		key := strings.Repeat(string(rune('a'+i)), 64)
		w := &jobWatch{store: st, config: rl.UpdateConfig{Timeout: rl.Duration(time.Hour)}, job: launch.Job{Key: key}, kept: rl.JobRecord{Name: "j"}}
		var s launch.Status
		for n, exit := range c.ends {
			s = launch.Status{State: map[int]launch.State{0: launch.Done, 42: launch.Failed}[exit], Attempt: n + 1, Exit: exit, Why: "exit"}
			if s.State == "" {
				s.State = launch.Lost
			}
			if exit == -1 {
				s.Why = "it was killed"
			}
			if exit == late {
				s.Exit, s.Ran = -1, 2*time.Hour
			}
			if _, err := st.Put(t.Context(), store.JobAttemptKey(key, n+1), rl.CanonicalJSON(rl.JobAttempt{Attempt: n + 1, Exit: s.Exit})); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := st.Put(t.Context(), store.JobLogKey(key, s.Attempt), []byte(c.log)); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Put(t.Context(), store.JobProgressKey(key), rl.CanonicalJSON(rl.JobProgress{Attempt: s.Attempt, Error: c.told})); err != nil {
			t.Fatal(err)
		}
		err := w.failure(t.Context(), s)
		e, ok := errors.AsType[*rl.Error](err)
		if !ok || e.Kind != c.kind || !strings.Contains(err.Error(), c.says) || (e.RetryAfter > 0) != c.rest || e.RetryAfter > 5*time.Minute {
			t.Errorf("%s: %v (%+v), want %s of kind %s", c.name, err, e, c.says, c.kind)
		}
	}
}
