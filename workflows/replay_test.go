package workflows

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
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
