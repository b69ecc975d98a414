package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/infra/simjudge"
	"github.com/longhaul-rl/longhaul/rl"
)

// The simulated judge says where it is, answers there, and says at its end what it did.
func TestSimulatedJudgeServes(t *testing.T) {
	said, stdout := io.Pipe()
	var stderr strings.Builder
	a := &app{out: &output{stdout: stdout, stderr: &stderr, json: true}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		ended <- a.simulate(ctx, "127.0.0.1:0", simjudge.Options{World: "orders", Tasks: rl.TaskRange{First: 0, Last: 9}})
	}()
	var event struct{ Event, URL string }
	if err := json.NewDecoder(said).Decode(&event); err != nil || event.Event != "judge" || !strings.HasPrefix(event.URL, "http://127.0.0.1:") {
		t.Fatalf("%+v, %v", event, err)
	}
	res, err := http.Post(event.URL+"/chat/completions", "application/json", strings.NewReader(`{"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadRequest || string(b) != `{"error":{"message":"the simulated judge reads only longhaul's own prompts"}}`+"\n" {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	cancel()
	if err := <-ended; err != context.Canceled || stderr.String() != "asked 1 times, 0 answers were paid\n" {
		t.Errorf("%v, %q", err, stderr.String())
	}
}
