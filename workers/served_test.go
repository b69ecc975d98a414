package workers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// endpoint is a server that gives no token ids, as most endpoints of the OpenAI API.
func endpoint(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/models") {
			fmt.Fprint(w, `{"id":"some-model","data":[{"id":"some-model"}]}`)
			return
		}
		fmt.Fprint(w, `{"model":"some-model-2026-08-06","choices":[{"message":{"content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"say","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// onEndpoint is a run on it.
func onEndpoint(t *testing.T, updates int) rl.Config {
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name, cfg.Env.Use, cfg.Env.MaxTurns = "endpoint", "talk", 3
	cfg.Policy = rl.PolicyConfig{Use: "openai", URL: endpoint(t), Model: "some-model", Publish: "none", ShareGPU: "no"}
	cfg.WarmUp.Max, cfg.Updates, cfg.Eval.Every, cfg.Eval.Tasks = 0, updates, 1, 4
	return cfg
}

// Any endpoint is evaluated, under its own name, whatever it calls itself.
func TestAnyEndpointIsEvaluated(t *testing.T) {
	l := open(t, t.TempDir(), 1)
	cfg := onEndpoint(t, 0)
	l.run(t, cfg)
	_, e, err := store.FindJSON[rl.Evaluation](t.Context(), l.store, store.EvaluationKey(cfg.Name, 0, workflows.PlanOf(cfg).EvalKey))
	if err != nil || e.Sampled.Of != 4 || e.Sampled.Hits != 4 || len(e.Failed) != 0 || e.Model != "some-model" {
		t.Errorf("%+v %v", e, err)
	}
	if report, err := l.store.Verify(t.Context(), cfg.Name); err != nil || len(report.Faults) > 0 {
		t.Error(report, err)
	}
}

// It is not trained on: a run that would is refused at its start, and says what is missing.
func TestEndpointsWithoutTokenIDsAreNotTrainedOn(t *testing.T) {
	l := open(t, t.TempDir(), 1)
	run, err := workers.Launch(t.Context(), l.client, l.store, l.uri, onEndpoint(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the answer has no token ids: vLLM gives") {
		t.Error(err)
	}
}
