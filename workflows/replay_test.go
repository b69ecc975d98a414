package workflows

import (
	"os"
	"path/filepath"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"
)

// Every recorded history of a released logic version replays without a difference. Record those of a new version with
//
//	LONGHAUL_RECORD=../workflows/testdata go test ./workers -run TestRecordHistories
func TestReplayRecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded histories: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflow(Train)
			r.RegisterWorkflow(Collect)
			r.RegisterWorkflow(Evaluate)
			r.RegisterWorkflow(Scheduled)
			r.RegisterWorkflow(Replay)
			if err := r.ReplayWorkflowHistoryFromJSONFile(nil, f); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Every stage is in one of the histories: how each is asked for is held.
func TestHistoriesHaveEveryStage(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var h historypb.History
		if err := protojson.Unmarshal(b, &h); err != nil {
			t.Fatal(f, err)
		}
		for _, e := range h.Events {
			found[e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()] = true
		}
	}
	for _, stage := range []string{
		"CancelJob", "Change", "Checkpoint", "ComputeAdvantages", "JudgeGroup", PrepareActivity, "Promote", "Publish", "Reopen", "ReplayEpisode",
		"Restore", "RunTrajectory", "SampleGroup", "ScoreEvaluation", "UpdatePolicy",
	} {
		if !found[stage] {
			t.Errorf("no recorded history has %s", stage)
		}
	}
}
