package openenv

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

func TestTheToolIsTheServersAction(t *testing.T) {
	tool := serve(t, &counter{}, nil).New().Spec().Tools[0]
	want := `{"type":"object","additionalProperties":false,"properties":{"add":{"type":"integer","title":"Add"},"do":{"type":"string"}},"required":["add"]}`
	if tool.Name != "count" || tool.Description != "Counts on." || string(tool.Parameters) != want || tool.Effect != envs.EpisodeLocal || tool.OutputCap != 1000 {
		t.Errorf("%+v", tool)
	}
}

// An episode of plain steps: rewards by turn, their sum, and the end.
func TestEpisode(t *testing.T) {
	c := &counter{}
	w := serve(t, c, nil)
	env := w.New()
	task := w.Task(rl.Train, 3)
	o, err := env.Reset(t.Context(), task)
	if err != nil || len(o.Messages) != 1 || !strings.HasPrefix(o.Messages[0].Content, "") || o.Messages[0].Role != rl.User {
		t.Fatalf("%+v, %v", o, err)
	}
	first := o.Messages[0].Content // the counter's only field, without metadata
	for _, step := range []struct {
		arguments string
		reward    float64
		done      bool
	}{{`{"add":2}`, 2, false}, {`{"add":3,"do":"win"}`, 1, false}, {`{"add":0,"do":"unpaid"}`, 0, false}, {`{"add":95}`, 95, true}} {
		r, err := env.Step(t.Context(), count(step.arguments))
		if err != nil || r.Reward != step.reward || r.Done != step.done || r.Content == "" {
			t.Errorf("%s: %+v, %v", step.arguments, r, err)
		}
	}
	if r, err := env.Step(t.Context(), count(`{"add":1}`)); err != nil || !r.Done || r.Reward != 0 {
		t.Errorf("after the end: %+v, %v", r, err)
	}
	if s, err := env.Score(t.Context()); err != nil || s.Value != 98 || !s.Scored() {
		t.Errorf("%+v, %v", s, err)
	}
	if err := errors.Join(env.Close(), env.Close()); err != nil {
		t.Error(err)
	}
	c.ended(t)
	if n := len(c.asked); n != 6 || c.asked[5] != `{"type":"close"}` || !strings.HasPrefix(c.asked[0], `{"type":"reset","data":{"seed":`) {
		t.Errorf("%q, and the first observation %q", c.asked, first)
	}
}

func TestLastRewardAndNone(t *testing.T) {
	env := played(t, serve(t, &counter{}, func(c *rl.OpenEnvConfig) { c.Score = "last" }))
	if s, _ := env.Score(t.Context()); s.Value != 0 || !s.Scored() {
		t.Errorf("an episode without a step: %+v", s)
	}
	env.Step(t.Context(), count(`{"add":2}`))
	env.Step(t.Context(), count(`{"add":3}`))
	env.Step(t.Context(), count(`{"add":90,"do":"unpaid"}`))
	if s, _ := env.Score(t.Context()); s.Value != 3 {
		t.Errorf("%+v", s)
	}
	unpaid := played(t, serve(t, &counter{}, nil))
	if r, err := unpaid.Step(t.Context(), count(`{"add":100,"do":"unpaid"}`)); err != nil || !r.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	if s, _ := unpaid.Score(t.Context()); s.Scored() {
		t.Errorf("the server gave no reward, yet the score is %+v", s)
	}
}

// What the model did wrong is an observation, and the session goes on.
func TestWrongActionsAreObservations(t *testing.T) {
	env := played(t, serve(t, &counter{}, nil))
	for arguments, want := range map[string]string{
		`{"add":"two"}`:                 `bad call: "add" of count must be integer, not string`,
		`{}`:                            `bad call: count needs "add"`,
		`{"add":1,"no":1}`:              `bad call: count takes no "no"`,
		`{"add":`:                       `bad call: the arguments of count are not JSON`,
		``:                              `bad call: the arguments of count must be an object, not nothing`,
		`{"add":1,"do":"refuse"}`:       `refused: Invalid message; add.0: too odd`,
		`{"add":1,"do":"\ud800"}`:       `bad call: a text has half a surrogate pair, which is no character`,
		`{"add":1,"do":"\udc00\ud83d"}`: `bad call: a text has half a surrogate pair, which is no character`,
		`{"add":` + strings.Repeat("7", 4001) + `}`: `bad call: a number has more than 4000 digits`,
	} {
		if r, err := env.Step(t.Context(), count(arguments)); err != nil || r.Content != want || r.Done || r.Reward != 0 {
			t.Errorf("%.80s: %+v, %v", arguments, r, err)
		}
	}
	if r, err := env.Step(t.Context(), count(`{"add":4,"do":"\ud83d\ude00 \\ud800"}`)); err != nil || r.Reward != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What breaks is an error, of which the session is gone, and never a result.
func TestBrokenSessionsAreErrors(t *testing.T) {
	for _, do := range []string{"die", "raise", "garbage", "hang", "infinite"} {
		c := &counter{}
		env := played(t, serve(t, c, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if r, err := env.Step(ctx, count(`{"add":1,"do":"`+do+`"}`)); rl.KindOf(err) != rl.Unavailable || r != (envs.Result{}) {
			t.Errorf("%s: %+v, %v", do, r, err)
		}
		cancel()
		if _, err := env.Step(t.Context(), count(`{"add":1}`)); rl.KindOf(err) != rl.Unavailable {
			t.Errorf("%s, then a step: %v", do, err)
		}
		if s, err := env.Score(t.Context()); rl.KindOf(err) != rl.Unavailable {
			t.Errorf("%s is scored: %+v, %v", do, s, err)
		}
		if err := env.Close(); err != nil {
			t.Errorf("%s, then Close: %v", do, err)
		}
	}
	env := played(t, serve(t, &counter{}, nil))
	if r, err := env.Step(t.Context(), count(`{"add":1,"do":"twice"}`)); err != nil || r.Content != "once" {
		t.Errorf("%+v, %v", r, err)
	}
	time.Sleep(time.Second) // until it has come
	if r, err := env.Step(t.Context(), count(`{"add":1}`)); !errors.Is(err, errLost) || r != (envs.Result{}) {
		t.Errorf("an answer too many: %+v, %v", r, err)
	}
}

func TestFailedStepsAreObservationsWhereTheConfigurationSaysSo(t *testing.T) {
	env := played(t, serve(t, &counter{}, func(c *rl.OpenEnvConfig) { c.Failed = "observation" }))
	if r, err := env.Step(t.Context(), count(`{"add":1,"do":"raise"}`)); err != nil || r.Content != "failed: division by zero" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := env.Step(t.Context(), count(`{"add":5}`)); err != nil || r.Reward != 5 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBigReplies(t *testing.T) {
	env := played(t, serve(t, &counter{}, nil))
	if r, err := env.Step(t.Context(), count(`{"add":1,"do":"big"}`)); err != nil || len(r.Content) < 7<<20 {
		t.Errorf("%d bytes, %v", len(r.Content), err)
	}
}

// A full server is asked again, no more episodes are begun than it has room for, and what they hold comes back.
func TestCapacity(t *testing.T) {
	c := &counter{most: 3, refusals: 4}
	w := serve(t, c, nil)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			env := w.New()
			defer env.Close()
			if _, err := env.Reset(t.Context(), w.Task(rl.Train, i)); err != nil {
				t.Error(err)
			}
			if r, err := env.Step(t.Context(), count(`{"add":1}`)); err != nil || r.Reward != 1 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	c.ended(t)
	if c.begun != 12 {
		t.Errorf("%d sessions for 12 episodes", c.begun)
	}
	full := serve(t, &counter{refusals: 1000}, func(c *rl.OpenEnvConfig) { c.ResetTimeout = rl.Duration(3 * time.Second) })
	_, err := full.New().Reset(t.Context(), full.Task(rl.Train, 0))
	if rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "CAPACITY_REACHED") {
		t.Error(err)
	}
}

func TestMisuse(t *testing.T) {
	w := serve(t, &counter{}, nil)
	env := w.New()
	if _, err := env.Step(t.Context(), count(`{"add":1}`)); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Step before Reset: %v", err)
	}
	if _, err := env.Score(t.Context()); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Score before Reset: %v", err)
	}
	for _, task := range []rl.Task{{}, {Env: "orders", ID: "train-1", Split: rl.Train, Index: 1}, w.Task("exam", 0), w.Task(rl.Train, -1)} {
		if _, err := env.Reset(t.Context(), task); rl.KindOf(err) != rl.Invalid {
			t.Errorf("Reset of %+v: %v", task, err)
		}
	}
	if _, err := env.Snapshot(t.Context()); rl.KindOf(err) != rl.Invalid {
		t.Errorf("Snapshot before Reset: %v", err)
	}
	if err := env.Restore(t.Context(), nil); !errors.Is(err, envs.ErrNoSnapshot) {
		t.Error(err)
	}
}

func TestHeader(t *testing.T) {
	const secret = "Bearer open-sesame-open-sesame"
	t.Setenv("COUNTER_KEY", secret)
	change := func(c *rl.OpenEnvConfig) { c.Header, c.HeaderEnv = "Authorization", "COUNTER_KEY" }
	w := serve(t, &counter{header: secret}, change)
	env := played(t, w)
	if r, err := env.Step(t.Context(), count(`{"add":1,"do":"tell"}`)); err != nil || r.Content != "refused: not with [Authorization]" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := env.Step(t.Context(), count(`{"add":1,"do":"tell all"}`)); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "not with [Authorization]") {
		t.Error(err)
	}
	t.Setenv("COUNTER_KEY", "Bearer something-else-altogether")
	w = serve(t, &counter{header: secret}, func(c *rl.OpenEnvConfig) { change(c); c.Schema = schemaFile(t) })
	_, err := w.New().Reset(t.Context(), w.Task(rl.Train, 0))
	if rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "something-else") {
		t.Errorf("a wrong key: %v", err)
	}
	t.Setenv("COUNTER_KEY", "")
	if _, err := open(rl.EnvConfig{OpenEnv: rl.OpenEnvConfig{URL: "http://127.0.0.1:1", Header: "Authorization", HeaderEnv: "COUNTER_KEY"}}); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "COUNTER_KEY is not set") {
		t.Error(err)
	}
}

func TestServerThatIsAway(t *testing.T) {
	if _, err := open(rl.EnvConfig{OpenEnv: rl.OpenEnvConfig{URL: "http://127.0.0.1:1"}}); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("no schema to be had: %v", err)
	}
	if got := serve(t, &counter{}, func(c *rl.OpenEnvConfig) { c.URL = "http://127.0.0.1:1," + c.URL }).New().Spec().Tools; len(got) != 1 {
		t.Errorf("the schema of the server that is there: %+v", got)
	}
	w, err := open(rl.EnvConfig{OpenEnv: rl.OpenEnvConfig{URL: "http://127.0.0.1:1", Tool: "count", Schema: schemaFile(t), ResetTimeout: rl.Duration(300 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.New().Reset(t.Context(), w.Task(rl.Eval, 5)); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
}

// A schema without an end is told as what it is.
func TestAnEndlessSchema(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, mostSchema+1)) }))
	defer s.Close()
	if _, err := open(rl.EnvConfig{OpenEnv: rl.OpenEnvConfig{URL: s.URL}}); err == nil || err.Error() != "environment openenv: "+s.URL+"/schema: half a schema: it has more than 4194304 bytes" {
		t.Error(err)
	}
}

// A policy may think for longer than a server waits for the answer to a ping.
func TestPingsAreAnsweredBetweenSteps(t *testing.T) {
	c := &counter{pings: true}
	env := played(t, serve(t, c, nil))
	select {
	case err := <-c.pong:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("no answer")
	}
	if r, err := env.Step(t.Context(), count(`{"add":1}`)); err != nil || r.Reward != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
