package activities

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// Where failed members get another chance, what another reward gave their group goes aside with its scores: it is of other members.
func TestReopenedGroupsLoseAllScores(t *testing.T) {
	b := open(t, "a", "whole")
	for _, task := range []rl.TaskID{"a", "whole"} {
		scores := rl.Scores{Schema: rl.ScoresSchema, Task: task, Scores: []rl.Score{{Unscored: "failed_environment"}}}
		put(t, b, store.ScoresKey(run, 1, task), scores)
		put(t, b, store.RescoredKey(run, 1, task, "other"), scores)
	}
	put(t, b, store.FailureKey(b.trajectoryKey("a")), rl.Failure{LeftOut: rl.EnvFailed, Why: "out"})
	for _, groups := range []int{1, 0} {
		if out, err := b.reopen(t.Context(), b.in.Stage); err != nil || out.Groups != groups {
			t.Fatalf("%+v %v, want %d groups", out, err, groups)
		}
	}
	for key, want := range map[string]rl.Kind{
		store.ScoresKey(run, 1, "a"): rl.NotFound, store.RescoredKey(run, 1, "a", "other"): rl.NotFound,
		store.ScoresKey(run, 1, "whole"): "", store.RescoredKey(run, 1, "whole", "other"): "",
	} {
		if _, err := b.store.Head(t.Context(), key); rl.KindOf(err) != want {
			t.Errorf("%s: %v, want kind %q", key, err, want)
		}
	}
	aside, err := b.store.Names(t.Context(), store.RescoredPrefix(run, 1, "a")+"aside/")
	if err != nil || len(aside) != 1 || !strings.HasSuffix(aside[0], "-other.json") {
		t.Errorf("aside: %v %v", aside, err)
	}
}

// What is out of reach is asked again after the time that it asks for; what fails for good is not.
func TestPatiently(t *testing.T) {
	for _, c := range []struct {
		kind rl.Kind
		want int
	}{{rl.Unavailable, 2}, {rl.Exhausted, 1}, {rl.Refused, 1}} {
		tries, waited, began := 0, 0, time.Now()
		err := patiently(t.Context(), func(error) { waited++ }, func() error {
			if tries++; tries == 2 {
				return nil
			}
			return &rl.Error{Kind: c.kind, At: "judge", Err: errors.New("no"), RetryAfter: 20 * time.Millisecond}
		})
		if tries != c.want || waited != c.want-1 || (err == nil) != (c.want == 2) || c.want == 2 && time.Since(began) < 20*time.Millisecond {
			t.Errorf("%s: %d tries in %v, %v", c.kind, tries, time.Since(began), err)
		}
	}
}
