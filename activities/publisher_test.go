package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// modelServer is as much of vLLM as publishing meets. scripts/vllm.sh publishes to the real one.
type modelServer struct {
	mu     sync.Mutex
	models map[string]string // by name, where they lie
	lent   []string          // what it was asked to do with its GPU
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q struct {
		Model string
		Name  string `json:"lora_name"`
		Path  string `json:"lora_path"`
	}
	json.NewDecoder(r.Body).Decode(&q)
	switch r.URL.Path {
	case "/pause", "/resume", "/sleep", "/wake_up":
		s.lent = append(s.lent, r.URL.RequestURI())
	case "/v1/models":
		data := []map[string]string{}
		for name, root := range s.models {
			data = append(data, map[string]string{"id": name, "root": root})
		}
		json.NewEncoder(w).Encode(map[string]any{"data": data})
	case "/v1/load_lora_adapter":
		if _, err := os.Stat(filepath.Join(q.Path, "adapter_config.json")); err != nil {
			http.Error(w, "No adapter found for "+q.Path, http.StatusNotFound)
			return
		}
		s.models[q.Name] = q.Path
	case "/v1/unload_lora_adapter":
		delete(s.models, q.Name)
	case "/v1/chat/completions":
		if _, known := s.models[q.Model]; !known {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"The model %s does not exist."}}`, q.Model), http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"model":%q,"prompt_token_ids":[1],"choices":[{"message":{"content":"x"},"token_ids":[2],"logprobs":{"content":[{"logprob":-1}]},"finish_reason":"stop"}]}`, q.Model)
	default:
		http.NotFound(w, r)
	}
}

func (s *modelServer) known() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// publishing is a run on a model server, whose checkpoints have such files.
func publishing(t *testing.T, how string, files ...string) (*bench, publisher, *modelServer) {
	b := open(t)
	server := &modelServer{models: map[string]string{"base": "/models/base"}}
	http := httptest.NewServer(server)
	t.Cleanup(http.Close)
	cfg := rl.Config{Name: run, Updates: 9, Group: rl.GroupConfig{MaxStaleness: 1}, Reward: rl.RewardConfig{Use: "exact"},
		Env:    rl.EnvConfig{Use: "orders", MaxTurns: 2, EpisodeTimeout: rl.Duration(time.Minute), TurnTimeout: rl.Duration(time.Minute)},
		Update: rl.UpdateConfig{Use: "local", Timeout: rl.Duration(time.Hour), Local: rl.LocalConfig{Python: "python3"}},
		Policy: rl.PolicyConfig{Use: "openai", URL: http.URL + "/v1", Model: "base", Publish: how, Adapters: filepath.Join(t.TempDir(), "versions")}}
	for n := range rl.UpdateNumber(6) {
		c := rl.Checkpoint{Schema: rl.CheckpointSchema, Run: run, Update: n, Version: rl.VersionOf(run, n)}
		for _, name := range files {
			if strings.HasPrefix(name, "adapter") && n == 0 {
				continue // there is none yet
			}
			f, err := b.store.PutFile(t.Context(), name, []byte(fmt.Sprint(name, n)))
			if err != nil {
				t.Fatal(err)
			}
			c.Files = append(c.Files, f)
		}
		if _, err := b.store.PutCheckpoint(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	b.configure(t, cfg)
	client, err := b.policy(t.Context(), b.in.Stage, b.store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b, publisher{b.Activities, b.store, cfg, client}, server
}

func dirs(t *testing.T, p publisher) (names []string) {
	entries, err := os.ReadDir(p.config.Policy.Adapters)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name()[:strings.LastIndexByte(e.Name(), '-')])
	}
	return names
}

// The base answers before there is an adapter; then each version's is loaded under its name, old ones go, and one that is
// asked for all the same, or that a server has forgotten, is loaded again.
func TestAdaptersArePublished(t *testing.T) {
	b, p, server := publishing(t, "lora", "adapter_config.json", "adapter_model.safetensors", "model.safetensors", "optimizer.safetensors")
	ask := func(v rl.Version) error {
		client, name, err := b.playing(t.Context(), b.in.Stage, b.store, p.config, v)
		if err != nil {
			return err
		}
		_, err = client.Act(t.Context(), policy.Request{Model: name, Messages: []rl.Message{{Role: rl.User, Content: "hello"}}, Training: true})
		return err
	}
	for n := range rl.UpdateNumber(6) {
		v := rl.VersionOf(run, n)
		for range 2 {
			if err := p.publish(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		if err := ask(v); err != nil {
			t.Fatal(v, err)
		}
	}
	kept := []string{"faults@000004", "faults@000005"}
	if got := server.known(); !slices.Equal(got, append([]string{"base"}, kept...)) {
		t.Error(got)
	}
	if got := dirs(t, p); !slices.Equal(got, kept) {
		t.Error(got)
	}
	files, err := os.ReadDir(server.models["faults@000005"])
	if err != nil || len(files) != 2 || files[1].Name() != "adapter_model.safetensors" {
		t.Error(files, err)
	}
	clear(server.models) // it was restarted
	server.models["base"] = "/models/base"
	for _, n := range []rl.UpdateNumber{5, 2, 0} { // and 2 is asked for by an evaluation
		if err := ask(rl.VersionOf(run, n)); err != nil {
			t.Error(n, err)
		}
	}
	if got := server.known(); !slices.Equal(got, []string{"base", "faults@000002", "faults@000005"}) {
		t.Error(got)
	}
}

// An interrupted directory is never loaded, and goes on where it was.
func TestVersionsAppearWhole(t *testing.T) {
	_, p, server := publishing(t, "lora", "adapter_config.json", "adapter_model.safetensors")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.publish(ctx, "faults@000001"); err == nil || len(server.models) > 1 {
		t.Fatal(err, server.models)
	}
	for _, name := range dirs(t, p) {
		if !strings.HasPrefix(name, ".") {
			t.Error(name)
		}
	}
	if err := p.publish(t.Context(), "faults@000001"); err != nil {
		t.Fatal(err)
	}
}

// A whole model is served by the command; a version that is served already needs no restart.
func TestModelsArePublishedByACommand(t *testing.T) {
	b, p, server := publishing(t, "restart", "config.json", "model.safetensors", "optimizer.safetensors")
	log := filepath.Join(t.TempDir(), "log")
	p.config.Policy.Restart = `echo "$LONGHAUL_VERSION $LONGHAUL_POLICY_URL" >>` + log + `; ls "$LONGHAUL_MODEL_DIR" >>` + log + `; sleep 3 & echo done`
	b.configure(t, p.config)
	go func() { // the server that the command has started
		for {
			if body, err := os.ReadFile(log); err == nil && strings.Contains(string(body), "model.safetensors") {
				server.mu.Lock()
				server.models = map[string]string{"faults@000001": "somewhere"}
				server.mu.Unlock()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for range 2 {
		if err := p.publish(t.Context(), "faults@000001"); err != nil {
			t.Fatal(err)
		}
	}
	body, err := os.ReadFile(log)
	if want := "faults@000001 " + p.config.Policy.URL + "\nconfig.json\nmodel.safetensors\n"; err != nil || string(body) != want {
		t.Errorf("%q %v, want %q", body, err, want)
	}
	p.config.Policy.Restart = "echo no such GPU >&2; exit 3"
	if err := p.publish(t.Context(), "faults@000002"); rl.KindOf(err) != rl.Unavailable || !strings.Contains(err.Error(), "exit status 3: no such GPU") {
		t.Error(err)
	}
}

// Servers that share their GPU give it up for an update and get it again, from the publication or the cancelling at the latest: a
// stage that was cut off leaves its job at work.
func TestAGPUIsLent(t *testing.T) {
	for how, names := range map[string][2]string{"no": {}, "pause": {"/pause?mode=keep", "/resume"}, "sleep": {"/sleep?level=1&mode=wait", "/wake_up"}} {
		b, p, server := publishing(t, "lora", "adapter_config.json", "adapter_model.safetensors")
		p.config.Policy.ShareGPU = how
		var want []string
		for _, c := range []struct {
			stopped, paused bool
			asked           []string
		}{{true, false, names[:1]}, {false, true, names[:1]}, {false, false, names[:]}} {
			var suite testsuite.WorkflowTestSuite
			stage, stop := suite.NewTestActivityEnvironment(), make(chan struct{})
			stage.SetWorkerStopChannel(stop)
			if c.stopped {
				close(stop)
			}
			update := func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				leave, err := b.enterLent(ctx, b.in.Stage, b.store, p.config)
				if c.paused {
					cancel()
				}
				leave()
				return err
			}
			stage.RegisterActivity(update)
			if _, err := stage.ExecuteActivity(update); err != nil {
				t.Fatal(err)
			}
			want = append(want, c.asked...)
		}
		if err := p.publish(t.Context(), "faults@000001"); err != nil {
			t.Error(err)
		}
		b.configure(t, p.config)
		b.Jobs.Dir = t.TempDir()
		put(t, b, store.JobRecordKey(run, 1), rl.JobRecord{Schema: rl.JobRecordSchema, Key: strings.Repeat("ab", 32)})
		if err := b.cancelJob(t.Context(), b.in.Stage); err != nil {
			t.Error(err)
		}
		want = append(want, names[1], names[1])
		if want = slices.DeleteFunc(want, func(s string) bool { return s == "" }); !slices.Equal(server.lent, want) {
			t.Errorf("%s: %q, want %q", how, server.lent, want)
		}
	}
}

// The run was given other servers while its first ones lent their GPU to a job that it had left to itself: those have it again when the
// job is cancelled, or makes way for the one of the new settings. One of the first that takes nothing back does not hold up the run.
func TestServersOfOldSettingsAreWoken(t *testing.T) {
	b, p, old := publishing(t, "lora")
	ill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }))
	defer ill.Close()
	b.Jobs.Dir = t.TempDir()
	cfg := p.config
	cfg.Policy.ShareGPU = "sleep"
	first, then := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	lenders := cfg
	lenders.Policy.URL += "," + ill.URL + "/v1"
	spec := rl.UpdateSpec{Schema: rl.UpdateSpecSchema, Config: put(t, b, "runs/faults/configs/a.json", lenders)}
	put(t, b, store.JobSpecKey(first), spec)
	put(t, b, store.JobRecordKey(run, 1), rl.JobRecord{Schema: rl.JobRecordSchema, Key: first, Launcher: "local"})

	server := &modelServer{}
	other := httptest.NewServer(server)
	defer other.Close()
	cfg.Policy.URL = other.URL + "/v1"
	b.configure(t, cfg)
	for range 2 {
		if err := b.cancelJob(t.Context(), b.in.Stage); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if _, err := b.watch(t.Context(), b.in.Stage, b.store, cfg, then); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"/wake_up", "/wake_up", "/wake_up"}; !slices.Equal(old.lent, want) || len(server.lent) > 0 {
		t.Errorf("the first servers: %q, the others: %q", old.lent, server.lent)
	}
}

// Another setting of a run that has kept its servers is no reason to give their loan up: cancelling tries until they have it.
func TestServersThatAreStillTheRunsAreWokenInTheEnd(t *testing.T) {
	b, p, _ := publishing(t, "lora")
	b.Jobs.Dir = t.TempDir()
	well := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	cfg := p.config
	cfg.Policy.ShareGPU, cfg.Policy.URL = "sleep", server.URL+"/v1"
	job := strings.Repeat("ab", 32)
	put(t, b, store.JobSpecKey(job), rl.UpdateSpec{Schema: rl.UpdateSpecSchema, Config: put(t, b, "runs/faults/configs/a.json", cfg)})
	put(t, b, store.JobRecordKey(run, 1), rl.JobRecord{Schema: rl.JobRecordSchema, Key: job, Launcher: "local"})
	cfg.Update.LearningRate /= 2
	b.configure(t, cfg)
	if err := b.cancelJob(t.Context(), b.in.Stage); rl.KindOf(err) != rl.Unavailable {
		t.Errorf("the loan is given up: %v", err)
	}
	well = true
	if err := b.cancelJob(t.Context(), b.in.Stage); err != nil {
		t.Error(err)
	}
}

// Of two servers one cannot be paused: the other gets its GPU back at once.
func TestAGPUIsLentByAllOrNone(t *testing.T) {
	b, p, server := publishing(t, "lora")
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	p.config.Policy.URL += "," + plain.URL + "/v1"
	p.config.Policy.ShareGPU = "sleep"
	b.configure(t, p.config) // the client is this configuration's
	var suite testsuite.WorkflowTestSuite
	stage := suite.NewTestActivityEnvironment()
	update := func(ctx context.Context) error {
		_, err := b.enterLent(ctx, b.in.Stage, b.store, p.config)
		return err
	}
	stage.RegisterActivity(update)
	if _, err := stage.ExecuteActivity(update); err == nil || !strings.Contains(err.Error(), "it cannot be paused") {
		t.Error(err)
	}
	if want := []string{"/sleep?level=1&mode=wait", "/wake_up"}; !slices.Equal(server.lent, want) {
		t.Errorf("%q, want %q", server.lent, want)
	}
}

// What the configuration does not fit is said, once, and not tried for ever.
func TestPublishingTheWrongKind(t *testing.T) {
	_, p, _ := publishing(t, "restart", "adapter_config.json", "adapter_model.safetensors")
	if err := p.publish(t.Context(), "faults@000001"); rl.KindOf(err) != rl.Refused || !strings.Contains(err.Error(), "is an adapter: it cannot be published with publish: restart") {
		t.Error(err)
	}
}
