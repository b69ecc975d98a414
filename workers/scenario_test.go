package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// talk is an environment whose one tool says what a test wants; an episode ends when the policy has called it often
// enough. The tool of the episode of member deaf never returns, whatever becomes of its context.
var talk struct {
	says string
	deaf string
}

func init() {
	envs.Register(envs.World{Name: "talk", New: func() envs.Env { return &talking{} }, Task: func(s rl.Split, i int) rl.Task {
		return rl.Task{ID: rl.TaskID(fmt.Sprintf("%s-%d", s, i)), Env: "talk", Split: s, Index: i}
	}})
}

type talking struct{ calls int }

func (*talking) Spec() envs.Spec {
	return envs.Spec{Tools: []envs.Tool{{Tool: rl.Tool{Name: "say", Parameters: json.RawMessage(`{"type":"object"}`)}, Effect: envs.EpisodeLocal}}}
}

func (t *talking) Reset(context.Context, rl.Task) (rl.Observation, error) {
	return rl.Observation{Messages: []rl.Message{{Role: rl.User, Content: "talk"}}}, nil
}

func (t *talking) Step(_ context.Context, call envs.Call) (envs.Result, error) {
	if talk.deaf != "" && strings.Split(call.Key, "/")[3] == talk.deaf {
		select {}
	}
	t.calls++
	return envs.Result{Content: talk.says}, nil
}

func (*talking) Snapshot(context.Context) ([]byte, error) { return nil, envs.ErrNoSnapshot }
func (*talking) Restore(context.Context, []byte) error    { return envs.ErrNoSnapshot }
func (t *talking) Score(context.Context) (rl.Score, error) {
	return rl.Score{Value: float64(t.calls % 2)}, nil
}
func (*talking) Close() error { return nil }

// chat is a policy server that always calls the tool.
func chat(plan *faults.Plan) *httptest.Server {
	return httptest.NewServer(plan.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		json.NewDecoder(r.Body).Decode(&q)
		fmt.Fprintf(w, `{"model":%q,"prompt_token_ids":[1],"choices":[{"message":{"content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"say","arguments":"{}"}}]},"token_ids":[2],"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"tool_calls"}]}`, q.Model)
	})))
}

// collected runs the groups of one update against a policy server and returns what came of it, and the events of its
// history.
func (l *line) collected(t *testing.T, url string, change func(*rl.Config)) (workflows.CollectOut, rl.Ledger, int) {
	t.Helper()
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name, cfg.Env.Use, cfg.Env.MaxTurns = "talk", "talk", 4
	cfg.Policy = rl.PolicyConfig{Use: "openai", URL: url + "/v1"}
	cfg.Group = rl.GroupConfig{Size: 8, PerUpdate: 1, PerActivity: 4, Quorum: .75}
	change(&cfg)
	ref, _, err := store.PutJSON(t.Context(), l.store, store.ConfigKey(cfg.Name), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stage := activities.Stage{Run: cfg.Name, Store: l.uri, Config: ref, Update: 1}
	own := &activities.Activities{OpenStore: l.openStore}
	sampled, err := own.SampleGroup(t.Context(), activities.SampleGroupIn{Stage: stage})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	run, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "collect/talk/1", TaskQueue: workflows.ControlQueue}, workflows.Collect, workflows.CollectIn{
		Stage: stage, Tasks: sampled.Tasks, Version: rl.VersionOf(cfg.Name, 0), Groups: sampled.Groups,
		Size: cfg.Group.Size, PerActivity: cfg.Group.PerActivity, Quorum: cfg.Group.Quorum, EpisodeTimeout: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out workflows.CollectOut
	if err := run.Get(ctx, &out); err != nil {
		t.Fatal(err)
	}
	return out, l.ledger(t, own, stage, sampled.Tasks), l.events(t, "collect/talk/1")
}

// ledger is what ComputeAdvantages says of the groups.
func (l *line) ledger(t *testing.T, own *activities.Activities, stage activities.Stage, tasks rl.Ref) rl.Ledger {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(own)
	if _, err := environment.ExecuteActivity(own.ComputeAdvantages, activities.ComputeAdvantagesIn{Stage: stage, Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	_, ledger, err := store.FindJSON[rl.Ledger](t.Context(), l.store, store.LedgerKey(stage.Run, stage.Update))
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// events counts a history's events; none may be larger than 4 KB.
func (l *line) events(t *testing.T, id string) (n int) {
	t.Helper()
	for events := l.client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); n++ {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Size() > 4096 {
			t.Errorf("event %d of %s has %d bytes", e.EventId, id, e.Size())
		}
	}
	return n
}

// A tool that never returns costs its slot and no other, at its deadline: the group closes without it. A policy call
// that never does is asked again.
func TestHangsCostTheirSlots(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	talk.says, talk.deaf = "hello", "3"
	defer func() { talk.deaf = "" }()
	server := chat(faults.Of(faults.On("POST", "", faults.Nth(9), faults.Hang)))
	defer server.Close()
	defer server.CloseClientConnections()
	began := time.Now()
	out, ledger, _ := l.collected(t, server.URL, func(c *rl.Config) { c.Env.TurnTimeout = rl.Duration(4 * time.Second) }) // the others have as long
	if !ledger.Balanced || ledger.Asked != 8 || out.Episodes != 7 || out.Valid != 1 || ledger.LeftOut[rl.EnvFailed] != 1 || ledger.LeftOut[rl.BelowQuorum] != 0 {
		t.Errorf("%+v %+v", out, ledger)
	}
	if s := ledger.Slots[3]; s.LeftOut != rl.EnvFailed || !strings.Contains(s.Why, "left behind") {
		t.Errorf("%+v", s)
	}
	if wall := time.Since(began); wall > 2*time.Minute {
		t.Errorf("it took %v", wall)
	}
}

// An outage of the policy in the middle of the episodes: nothing is lost, nobody is scored 0 for it, and the run goes on
// by itself.
func TestPolicyOutage(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	talk.says = "hello"
	var asked atomic.Int64
	var until atomic.Int64
	down := faults.While(func() bool {
		if asked.Add(1) == 12 {
			until.Store(time.Now().Add(8 * time.Second).UnixNano())
		}
		return time.Now().UnixNano() < until.Load()
	})
	server := chat(faults.Of(faults.On("POST", "", down, faults.Answer(503, "busy", "Retry-After", "1"))))
	defer server.Close()
	out, ledger, _ := l.collected(t, server.URL, func(*rl.Config) {})
	if out.Episodes != 8 || out.Turns != 32 || len(ledger.LeftOut) > 1 || ledger.LeftOut[rl.PolicyFailed]+ledger.LeftOut[rl.Unscored] != 0 {
		t.Errorf("%+v %+v", out, ledger)
	}
}

// Groups of eight episodes of fifty turns with 5 KB results: their history is no longer than that of short ones.
func TestLongEpisodesShortHistory(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	talk.says = strings.Repeat("word ", 1000)
	server := chat(faults.Of())
	defer server.Close()
	out, _, events := l.collected(t, server.URL, func(c *rl.Config) { c.Env.MaxTurns, c.Group.PerActivity, c.Group.PerUpdate = 50, 8, 2 })
	if out.Turns != 800 || events > 2*16 {
		t.Errorf("%d turns, %d events", out.Turns, events)
	}
	t.Logf("%d events for two groups of %d turns", events, out.Turns)
}
