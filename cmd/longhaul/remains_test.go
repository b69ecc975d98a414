package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// lasting are the objects of a run that are the same whatever happened on the way. Summaries and update results have
// clock readings, and journals say who wrote what.
var lasting = []string{
	"config.json", "latest", "best", "ckpt/*.json", "updates/*/tasks*.json", "updates/*/groups/*/episodes/*/trajectory.json.zst",
	"updates/*/groups/*/episodes/*/failure.json", "updates/*/groups/*/scores.json", "updates/*/groups/*/judge/*.json", "updates/*/batch.safetensors", "updates/*/ledger.json",
	"evals/*/tasks.json", "evals/*/evaluation.json", "evals/*/*/*/trajectory.json.zst",
}

// answered are the judge's answers on record, of all runs that this process has looked at.
var answered = map[string]bool{}

// left reads what a finished run left in a data directory that nobody holds.
func left(t *testing.T, data string, run rl.RunID, done doneCheckpoint) remains {
	t.Helper()
	a := &app{data: data, usual: data, out: &output{stdout: io.Discard, stderr: io.Discard, quiet: true}, getenv: func(string) string { return "" }, patience: patience, log: slog.New(slog.DiscardHandler)}
	c, err := a.connect(t.Context(), want{Temporal: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	unfailed(t, c.Temporal)
	return remainsOf(t, c.Store, run, done)
}

// unfailed holds that no run ever failed, which a later start would have made good without a word.
func unfailed(t *testing.T, c client.Client) {
	t.Helper()
	failed, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: dev.Namespace, Query: "ExecutionStatus != 'Running' AND ExecutionStatus != 'Completed' AND ExecutionStatus != 'ContinuedAsNew'"})
	if err != nil {
		t.Fatal(err)
	}
	if failed.Count > 0 {
		t.Errorf("%d workflows of the run ended otherwise than well", failed.Count)
	}
}

func remainsOf(t *testing.T, s *store.Store, run rl.RunID, done doneCheckpoint) remains {
	t.Helper()
	r := remains{Checkpoint: done}
	digest := sha256.New()
	turns := map[string]int{}
	for o, err := range s.List(t.Context(), store.RunPrefix(run)) {
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(o.Key, store.RunPrefix(run))
		body, err := s.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "/journal/") {
			entries, err := store.DecodeSegment(o.Key, body)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				id := fmt.Sprint(path.Dir(o.Key), e.Member, e.Index)
				if turns[id]++; turns[id] > 1 {
					r.Twice++
				}
			}
		}
		if strings.Contains(name, "/judge/") {
			answered[o.Key] = true
		}
		for _, pattern := range lasting {
			if ok, _ := path.Match(pattern, name); ok {
				r.Objects++
				fmt.Fprintln(digest, o.Key, store.SHA256(body))
			}
		}
	}
	r.Digest = hex.EncodeToString(digest.Sum(nil))
	return r
}
