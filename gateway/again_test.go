package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// An agent that is run again gets the recorded answers, ids and all, until it asks something else; from there on it is live.
func TestRecordedAnswersAreServedAgain(t *testing.T) {
	policy := &scripted{script: []string{spoken("one"), spoken("two"), spoken("three")}}
	before := play(t, policy, nil)
	first := before.says(said("user", "go"))
	second := before.says(said("user", "go"), spoken("one"), said("user", "on"))
	third := before.says(said("user", "go"), spoken("one"), said("user", "on"), spoken("two"), said("user", "on"))
	was := before.ended()

	again := play(t, policy, func(o *rollout.Options) { o.Recorded = before.journal[:2] })
	asked := policy.asked
	same := func(a, b chatAnswer) {
		t.Helper()
		if x, y := rl.CanonicalJSON(a), rl.CanonicalJSON(b); !bytes.Equal(x, y) {
			t.Errorf("%s, then %s", x, y)
		}
	}
	same(first, again.says(said("user", "go")))
	same(second, again.says(said("user", "go"), spoken("one"), said("user", "on")))
	if policy.asked != asked {
		t.Error("the policy was asked for what is recorded")
	}
	same(third, again.says(said("user", "go"), spoken("one"), said("user", "on"), spoken("two"), said("user", "on")))
	if policy.asked != asked+1 || len(again.journal) != 1 {
		t.Errorf("asked %d times more, %d turns more recorded", policy.asked-asked, len(again.journal))
	}
	if is := again.ended(); string(rl.CanonicalJSON(is)) != string(rl.CanonicalJSON(was)) {
		t.Errorf("%s\n%s", rl.CanonicalJSON(was), rl.CanonicalJSON(is))
	}

	other := play(t, policy, func(o *rollout.Options) { o.Recorded = before.journal })
	same(first, other.says(said("user", "go")))
	other.says(said("user", "go"), spoken("one"), said("user", "another way"))
	is := other.ended()
	if len(is.Turns) != 2 || is.Turns[1].Observation.Messages[0].Content != "another way" || is.Turns[1].From != nil {
		t.Errorf("%s", rl.CanonicalJSON(is.Turns))
	}
	if rows, why := is.Samples(); len(rows) != 1 || why != "" {
		t.Errorf("%d rows (%s)", len(rows), why)
	}
	if rows, why := (rl.Trajectory{Turns: append(turnsOf(before.journal), other.journal[0].Turn)}).Samples(); len(rows) != 2 || why != "" {
		t.Errorf("the journal of both runs is %d rows (%s)", len(rows), why)
	}
}

func turnsOf(journal []rl.Recorded) (turns []rl.Turn) {
	for _, r := range journal {
		turns = append(turns, r.Turn)
	}
	return turns
}

// A client that asks again since it got no answer is given that answer. One that asks the same side by side wants several.
func TestRetriesAreNoTurns(t *testing.T) {
	policy := &scripted{script: []string{spoken("one")}}
	held := make(chan struct{})
	policy.fail = func(int) int { <-held; return 0 }
	w := play(t, policy, nil)
	body := `{"model":"m","messages":[` + said("user", "go") + `]}`

	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { // a client that gives up
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, "POST", w.URL+"/chat/completions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.Key)
		if _, err := http.DefaultClient.Do(r); err == nil {
			t.Error("it was answered")
		}
	}()
	until(t, func() bool { w.Episode.mu.Lock(); defer w.Episode.mu.Unlock(); return w.asked == 1 })
	leave()
	<-gone
	until(t, func() bool { return len(w.room) == 0 })
	close(held)
	first, answer := w.post("/chat/completions", body)
	second, same := w.post("/chat/completions", body, "X-Stainless-Retry-Count", "1")
	if first != 200 || second != 200 || answer != same || policy.asked != 1 {
		t.Errorf("%d %s, then %d %s, asked %d times", first, answer, second, same, policy.asked)
	}

	var all sync.WaitGroup
	for range 4 { // votes
		all.Go(func() { w.post("/chat/completions", body) })
	}
	all.Wait()
	got := w.ended()
	if policy.asked != 5 || len(got.Turns) != 5 {
		t.Errorf("asked %d times, %d turns", policy.asked, len(got.Turns))
	}
	if rows, why := got.Samples(); len(rows) != 5 || why != "" {
		t.Errorf("%d rows (%s)", len(rows), why)
	}
}

// Of votes that were asked side by side, and recorded in any order, each is asked with its own seed once: what is on record is not
// sampled again after an interruption, what is not is, and the record is that of an undisturbed run.
func TestVotesAreResumed(t *testing.T) {
	body := `{"model":"m","messages":[` + said("user", "go") + `]}`
	vote := func(w *opened) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if status, answer := w.post("/chat/completions", body); status != 200 {
					t.Errorf("%d %s", status, answer)
				}
			})
		}
		all.Wait()
	}
	policy := &scripted{script: []string{spoken("one")}}
	whole := play(t, policy, nil)
	vote(whole)
	was := whole.ended()
	of := map[int]rl.Recorded{}
	for _, r := range whole.journal {
		r.From = nil
		of[r.Repeat] = r
	}
	for _, recorded := range [][]int{{2, 0}, {0}, {3, 2, 1, 0}} {
		again := play(t, policy, func(o *rollout.Options) {
			for i, n := range recorded {
				r := of[n]
				if i > 0 {
					none := -1
					r.From = &none
				}
				o.Recorded = append(o.Recorded, r)
			}
		})
		asked := policy.asked
		vote(again)
		is := again.ended()
		seeds := map[uint64]bool{}
		for _, turn := range is.Turns {
			seeds[turn.Action.Seed] = true
		}
		if len(seeds) != 4 || policy.asked != asked+4-len(recorded) {
			t.Errorf("%d seeds, asked %d times more", len(seeds), policy.asked-asked)
		}
		if a, b := rl.CanonicalJSON(was), rl.CanonicalJSON(is); !bytes.Equal(a, b) {
			t.Errorf("another record: %.400s\n%.400s", a, b)
		}
	}
}

// More requests than there is room for wait, and each gets an answer of its own, also where its client asked before and gave up.
func TestRequestsWaitForRoom(t *testing.T) {
	policy := &scripted{script: []string{spoken("one")}}
	held := make(chan struct{})
	policy.fail = func(int) int { <-held; return 0 }
	w := play(t, policy, nil)
	body := `{"model":"m","messages":[` + said("user", "go") + `]}`
	var all sync.WaitGroup
	for i := range together + 6 {
		all.Go(func() {
			if status, answer := w.post("/chat/completions", body, "X-Stainless-Retry-Count", fmt.Sprint(max(0, i-together))); status != 200 {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	until(t, func() bool { return len(w.room) == together })
	close(held)
	all.Wait()
	if got := w.ended(); len(got.Turns) < together+1 || policy.asked != len(got.Turns) {
		t.Errorf("asked %d times, %d turns", policy.asked, len(got.Turns))
	}
}

// The policy owes an agent an answer when that has asked for it since it was last told anything: it may have waited for that alone.
func TestWhatIsOwed(t *testing.T) {
	policy := &scripted{script: []string{spoken("one")}}
	held := make(chan struct{})
	policy.fail = func(n int) int {
		if n == 0 || n == 2 {
			<-held
		}
		return map[bool]int{true: 400}[n == 3] // its context is full
	}
	w := play(t, policy, nil)
	owed := func() bool { w.Episode.mu.Lock(); defer w.Episode.mu.Unlock(); return w.owed() }
	var all sync.WaitGroup
	ask := func(words string) { w.post("/chat/completions", `{"model":"m","messages":[`+said("user", words)+`]}`) }
	slowly := func(words string, nth int) {
		all.Go(func() { ask(words) })
		until(t, func() bool { policy.mu.Lock(); defer policy.mu.Unlock(); return policy.asked == nth })
	}
	for i, c := range []struct {
		does func()
		owed bool
	}{
		{func() {}, false},
		{func() { slowly("a", 1) }, true},
		{func() { ask("b") }, false}, // what it does next may follow from this answer
		{func() { slowly("c", 3) }, true},
		{func() { ask("d") }, false}, // a refusal is an answer
		{func() { close(held); all.Wait() }, false},
	} {
		if c.does(); owed() != c.owed {
			t.Errorf("after step %d: owed %v", i, !c.owed)
		}
	}
}
