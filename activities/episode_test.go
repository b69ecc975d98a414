package activities

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// played runs the episodes and fails the test unless they came to this.
func (b *bench) played(t *testing.T, episodes int, failed map[rl.LeftOut]int) {
	t.Helper()
	out, err := b.runTrajectories(t.Context(), b.in, now())
	if err != nil || out.Episodes != episodes || !maps.Equal(out.Failed, failed) {
		t.Fatalf("%+v %v, want %d episodes and %v", out, err, episodes, failed)
	}
}

// An environment's failure is the episode's own: tried again while that may help, then recorded, and no reason to end
// the stage.
func TestEnvironmentFails(t *testing.T) {
	b := open(t, "good", "shaky", "down", "unfit")
	var mu sync.Mutex
	resets := map[rl.TaskID]int{}
	faulty = func(task rl.TaskID) error {
		mu.Lock()
		defer mu.Unlock()
		resets[task]++
		switch {
		case task == "shaky" && resets[task] < 3:
			return errors.New("connection reset")
		case task == "down":
			return rl.Errorf(rl.Unavailable, "environment faulty", "no container")
		case task == "unfit":
			return rl.Errorf(rl.Invalid, "environment faulty", "no such task")
		}
		return nil
	}
	for range 2 { // the second time, all is recorded
		b.played(t, 2, map[rl.LeftOut]int{rl.EnvFailed: 2})
		if want := map[rl.TaskID]int{"good": 1, "shaky": 3, "down": 3, "unfit": 1}; !maps.Equal(resets, want) {
			t.Fatalf("resets %v, want %v", resets, want)
		}
	}
	if f := b.left(t, "down"); f.LeftOut != rl.EnvFailed || !strings.Contains(f.Why, "no container") {
		t.Error(f)
	}
	if f := b.left(t, "unfit"); !strings.Contains(f.Why, "no such task") {
		t.Error(f)
	}
}

// While the policy is out, the stage is tried again and again; an environment still gets all its tries.
func TestEnvironmentFailsInAnOutage(t *testing.T) {
	b := open(t, "good", "shaky")
	first := true
	faulty = func(task rl.TaskID) error {
		if task == "shaky" && first {
			first = false
			return errors.New("connection reset")
		}
		return nil
	}
	b.answer = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	for range 4 {
		if _, err := b.runTrajectories(t.Context(), b.in, now()); rl.KindOf(err) != rl.Unavailable {
			t.Fatal(err)
		}
	}
	b.answers(nil)
	b.played(t, 2, nil)
}

// A damaged record is none: the episode is played again, from its journal, and its record replaced.
func TestDamagedEpisodes(t *testing.T) {
	b := open(t, "played", "failed")
	faulty = func(task rl.TaskID) error {
		if task == "failed" {
			return rl.Errorf(rl.Invalid, "environment faulty", "no such task")
		}
		return nil
	}
	one := map[rl.LeftOut]int{rl.EnvFailed: 1}
	b.played(t, 1, one)
	whole, err := b.store.Get(t.Context(), b.trajectoryKey("played"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{b.trajectoryKey("played"), store.FailureKey(b.trajectoryKey("failed"))} {
		if _, err := b.store.Put(t.Context(), key, []byte("rot")); err != nil {
			t.Fatal(err)
		}
	}
	b.restart()
	b.played(t, 1, one)
	if again, err := b.store.Get(t.Context(), b.trajectoryKey("played")); err != nil || string(again) != string(whole) {
		t.Fatal("the trajectory is not what it was", err)
	}
	if f := b.left(t, "failed"); f.LeftOut != rl.EnvFailed {
		t.Error(f)
	}
	if n := b.asked("played"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// An environment that is away holds up no reward that is known without it.
func TestScoresWithoutTheEnvironment(t *testing.T) {
	b := open(t, "t")
	b.played(t, 1, nil)
	cfg, err := b.store.ConfigAt(t.Context(), b.in.Config)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Env.Use = "gone"
	b.configure(t, cfg)
	if out, err := b.judgeGroup(t.Context(), JudgeGroupIn{Stage: b.in.Stage, Tasks: b.in.Tasks}); err != nil || out.Scored != 1 {
		t.Error(out, err)
	}
}

func TestDamagedScores(t *testing.T) {
	b := open(t, "t")
	b.played(t, 1, nil)
	in := JudgeGroupIn{Stage: b.in.Stage, Tasks: b.in.Tasks}
	key := store.ScoresKey(run, 1, "t")
	for range 2 {
		if out, err := b.judgeGroup(t.Context(), in); err != nil || out.Scored != 1 {
			t.Fatal(out, err)
		}
		if _, err := b.store.Put(t.Context(), key, []byte("rot")); err != nil {
			t.Fatal(err)
		}
	}
	out, err := b.computeAdvantages(t.Context(), ComputeAdvantagesIn{Stage: b.in.Stage, Tasks: b.in.Tasks})
	if rl.KindOf(err) != rl.Invalid { // advantage.use is not set: the scores were read
		t.Fatal(out, err)
	}
	// A trajectory that rots after the rollout is left out, by name.
	if _, err := b.store.Put(t.Context(), b.trajectoryKey("t"), []byte("rot")); err != nil {
		t.Fatal(err)
	}
	b.restart()
	g, err := b.readGroup(t.Context(), b.store, b.in.Stage, rl.Task{ID: "t"}, 1)
	if err != nil || rl.LeftOutOf(g.Failed[0], "") != rl.StoreFailed || !strings.Contains(g.Failed[0], "cannot be unpacked") {
		t.Fatal(g.Failed, err)
	}
}

// What the policy server says of one conversation is that episode's result; what it says to all is the stage's.
func TestPolicyFails(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   rl.Kind // of the stage's error; "": the episode is recorded as failed
		say    string
	}{
		"a conversation":  {400, `{"error":{"message":"tool call 3 is malformed"}}`, "", "tool call 3"},
		"unprocessable":   {422, `{"detail":"no"}`, "", "422"},
		"the key":         {401, `{"error":{"message":"who are you"}}`, rl.Refused, "who are you"},
		"rights":          {403, `{}`, rl.Refused, "403"},
		"the model":       {404, `{}`, rl.Refused, "404"},
		"model, as a 400": {400, `{"error":{"message":"no such model"}}`, rl.Refused, "no such model"},
		"busy":            {429, `{}`, rl.Unavailable, "429"},
		"a page":          {200, `<html>back soon`, rl.Unavailable, "not what the API promises"},
		"no choices":      {200, `{"model":"faults@000000","choices":[]}`, rl.Unavailable, "no choices"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, "good", "odd")
			b.answer = says("odd", c.status, c.body)
			if c.kind == "" {
				b.played(t, 1, map[rl.LeftOut]int{rl.PolicyFailed: 1})
				if f := b.left(t, "odd"); b.asked("odd") != 1 || !strings.Contains(f.Why, c.say) {
					t.Errorf("asked %d times: %v", b.asked("odd"), f)
				}
				return
			}
			if _, err := b.runTrajectories(t.Context(), b.in, now()); rl.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.say) {
				t.Fatal(err)
			}
			b.answers(nil)
			b.played(t, 2, nil)
		})
	}
}

// A turn that takes too long three times is given up. A server that is not there is waited for.
func TestTurnTimesOut(t *testing.T) {
	b := open(t, "good", "slow")
	b.change(t, func(c *rl.Config) { c.Env.TurnTimeout = rl.Duration(2 * time.Second) }) // in which a request comes to the server
	b.answer = func(_ http.ResponseWriter, r *http.Request, task string) bool {
		if task == "slow" {
			<-r.Context().Done()
		}
		return task == "slow"
	}
	b.played(t, 1, map[rl.LeftOut]int{rl.PolicyFailed: 1})
	if f := b.left(t, "slow"); b.asked("slow") != 3 || !strings.Contains(f.Why, "no reply before the deadline") {
		t.Errorf("asked %d times: %v", b.asked("slow"), f)
	}
	gone := open(t, "t")
	gone.change(t, func(c *rl.Config) { c.Policy.URL = "http://127.0.0.1:1/v1" })
	if _, err := gone.runTrajectories(t.Context(), gone.in, now()); rl.KindOf(err) != rl.Unavailable {
		t.Fatal(err)
	}
	if _, _, ok, err := recorded[rl.Failure](t.Context(), gone.store, store.FailureKey(gone.trajectoryKey("t"))); ok || err != nil {
		t.Fatal("an outage was recorded", err)
	}
}

// A worker without the key says so, and the stage stays for one that has it.
func TestMissingKey(t *testing.T) {
	b := open(t, "t")
	b.change(t, func(c *rl.Config) { c.Policy.APIKeyEnv = "LONGHAUL_KEY" })
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(b.Activities)
	_, err := environment.ExecuteActivity(b.RunTrajectory, b.in)
	if KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "LONGHAUL_KEY is not set") {
		t.Fatal(err)
	}
	b.Getenv = func(string) string { return "sk-key" }
	if _, err := environment.ExecuteActivity(b.RunTrajectory, b.in); err != nil {
		t.Fatal(err)
	}
}
