package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/infra/dev/s3"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// bench is stages over the real embedded store, in a world and with a policy server that fail as they are told.
type bench struct {
	*Activities
	store *store.Store
	in    RunTrajectoryIn
	// answer answers in place of the policy server when it is asked about a task, and says whether it did.
	answer func(w http.ResponseWriter, r *http.Request, task string) bool
	mu     sync.Mutex
	counts map[string]int // requests, by task
}

const run = "faults"

// open stores a run of one group a task, of one member.
func open(t *testing.T, tasks ...rl.TaskID) *bench {
	t.Helper()
	server, err := s3.Open(t.TempDir(), s3.Options{AccessKey: "access", SecretKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	b := &bench{counts: map[string]int{}}
	b.Activities = &Activities{OpenStore: func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{Endpoint: "http://embedded.local", AccessKey: "access", SecretKey: "secret", Transport: inprocess.Transport{Handler: server}})
	}}
	const uri = "s3://bucket/runs"
	if b.store, err = b.OpenStore(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
	policy := httptest.NewServer(b)
	t.Cleanup(policy.Close)
	var all []rl.Task
	for _, id := range tasks {
		all = append(all, rl.Task{ID: id, Env: "faulty"})
	}
	b.in = RunTrajectoryIn{Stage: Stage{Run: run, Store: uri, Update: 1}, Version: rl.VersionOf(run, 0), Groups: len(all), Members: 1}
	b.in.Tasks = put(t, b, store.TasksKey(run, 1), all)
	b.configure(t, rl.Config{
		Name: run, Env: rl.EnvConfig{Use: "faulty", MaxTurns: 2, EpisodeTimeout: rl.Duration(time.Minute), TurnTimeout: rl.Duration(time.Minute)},
		Policy: rl.PolicyConfig{Use: "openai", URL: policy.URL + "/v1"}, Group: rl.GroupConfig{Size: 1}, Reward: rl.RewardConfig{Use: "exact"},
	})
	t.Cleanup(func() { faulty = nil })
	return b
}

// configure makes cfg the run's.
func (b *bench) configure(t *testing.T, cfg rl.Config) {
	t.Helper()
	ref, err := b.store.Put(t.Context(), store.ConfigKey(run), rl.CanonicalJSON(cfg))
	if err != nil {
		t.Fatal(err)
	}
	b.in.Config = ref
}

// change is the run's configuration with a change.
func (b *bench) change(t *testing.T, change func(*rl.Config)) {
	t.Helper()
	cfg, err := store.GetJSON[rl.Config](t.Context(), b.store, b.in.Config)
	if err != nil {
		t.Fatal(err)
	}
	change(&cfg)
	b.configure(t, cfg)
}

// restart forgets all that the process has at hand.
func (b *bench) restart() { b.Activities = &Activities{OpenStore: b.OpenStore} }

func put(t *testing.T, b *bench, key string, v any) rl.Ref {
	t.Helper()
	ref, err := b.store.Put(t.Context(), key, rl.CanonicalJSON(v))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (b *bench) trajectoryKey(task rl.TaskID) string { return b.in.trajectoryKey(task, 0) }

// answers has the policy server answer so from now on; a request that nobody waits for may still be under way.
func (b *bench) answers(answer func(w http.ResponseWriter, r *http.Request, task string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// left is the recorded failure of a task's episode.
func (b *bench) left(t *testing.T, task rl.TaskID) rl.Failure {
	t.Helper()
	_, f, ok, err := recorded[rl.Failure](t.Context(), b.store, store.FailureKey(b.trajectoryKey(task)))
	if err != nil || !ok {
		t.Fatalf("%s has no recorded failure: %v", task, err)
	}
	return f
}

// now is when an attempt begins.
func now() int64 { return time.Now().UnixNano() }

// asked is how often the policy server was asked about a task.
func (b *bench) asked(task string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[task]
}

// ServeHTTP is the policy server: the prompt is the task's id, and its action ends the episode.
func (b *bench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
		http.Error(w, fmt.Sprint(err), http.StatusTeapot)
		return
	}
	task := q.Messages[0].Content
	b.mu.Lock()
	b.counts[task]++
	answer := b.answer
	b.mu.Unlock()
	if answer != nil && answer(w, r, task) {
		return
	}
	fmt.Fprintf(w, `{"model":%q,"prompt_token_ids":[1],"choices":[{"message":{"content":"done"},"token_ids":[2],"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`, q.Model)
}

// says answers for one task; the others are answered well.
func says(task string, status int, body string) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, _ *http.Request, asked string) bool {
		if asked == task {
			w.Header().Set("Retry-After", "3600") // which nobody waits for in a test
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
		return asked == task
	}
}

// faulty says what becomes of a reset; nil: nothing bad.
var faulty func(rl.TaskID) error

func init() {
	envs.Register(envs.World{Name: "faulty", New: func() envs.Env { return &faultyEnv{} }})
}

type faultyEnv struct{ envs.Env }

func (*faultyEnv) Spec() envs.Spec { return envs.Spec{TextEnds: true} }

func (*faultyEnv) Reset(_ context.Context, task rl.Task) (o rl.Observation, err error) {
	if faulty != nil {
		err = faulty(task.ID)
	}
	o.Messages = []rl.Message{{Role: rl.User, Content: string(task.ID)}}
	return o, err
}

func (*faultyEnv) Step(context.Context, envs.Call) (envs.Result, error) {
	return envs.Result{Done: true}, nil
}

func (*faultyEnv) Score(context.Context) (rl.Score, error) { return rl.Score{Value: 1}, nil }

func (*faultyEnv) Close() error { return nil }
