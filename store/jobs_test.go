package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Attempts are counted, not spelled: the tenth comes after the ninth. One whose record is damaged has been, all the same.
func attempts(t *testing.T, s *store.Store) {
	job := strings.Repeat("ab", 32)
	for _, n := range []int{10, 9, 1} {
		_, _, err := store.PutJSON(t.Context(), s, store.JobAttemptKey(job, n), rl.JobAttempt{Schema: rl.JobAttemptSchema, Attempt: n, State: "lost", Exit: n})
		is(t, err, "")
	}
	must[rl.Ref](t)(s.Put(t.Context(), store.JobAttemptKey(job, 2), []byte("{")))
	for _, name := range []string{"attempt-3.json.bak", "attempt-03.json", "attempt-.json"} {
		must[rl.Ref](t)(s.Put(t.Context(), store.JobPrefix(job)+name, []byte("{}")))
	}
	var numbers, exits []int
	for _, a := range must[[]rl.JobAttempt](t)(s.JobAttempts(t.Context(), job)) {
		numbers, exits = append(numbers, a.Attempt), append(exits, a.Exit)
	}
	if !slices.Equal(numbers, []int{1, 2, 9, 10}) || !slices.Equal(exits, []int{1, -1, 9, 10}) {
		t.Errorf("attempts %v ended with %v", numbers, exits)
	}
	if none := must[[]rl.JobAttempt](t)(s.JobAttempts(t.Context(), strings.Repeat("cd", 32))); len(none) != 0 {
		t.Errorf("%v", none)
	}
}
