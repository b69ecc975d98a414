package workers_test

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"github.com/longhaul-rl/longhaul/workflows"
)

// What history costs, whatever an episode holds: at most 16 events and 4 KB a group in Collect, 60 events an update
// in Train, and no event above 4 KB.
func TestHistoryStaysSmall(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := small(t)
	cfg.Group.Size, cfg.Group.PerUpdate, cfg.Group.PerActivity = 8, 64, 8
	cfg.Updates, cfg.Eval.Every = 1, 0
	l.run(t, cfg)
	events, bytes := l.history(t, workflows.CollectID(cfg.Name, 1, 0, 0, 1))
	t.Logf("Collect, 64 groups of 8: %.1f events and %.0f bytes a group", float64(events)/64, float64(bytes)/64)
	if events > 16*64 || bytes > 4096*64 {
		t.Errorf("Collect: %d events and %d bytes for 64 groups, want at most 16 and 4,096 a group", events, bytes)
	}
	events, bytes = l.history(t, workflows.TrainID(cfg.Name))
	t.Logf("Train, 2 updates (one of them the warm-up): %d events, %d bytes", events, bytes)
	if events > 60*2 {
		t.Errorf("Train: %d events for 2 updates, want at most 60 each", events)
	}
}

func (l *line) history(t *testing.T, workflow string) (events, bytes int) {
	t.Helper()
	h := l.client.GetWorkflowHistory(t.Context(), workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for h.HasNext() {
		e, err := h.Next()
		if err != nil {
			t.Fatal(err)
		}
		size := proto.Size(e)
		if size > 4096 {
			t.Errorf("%s: a %s event of %d bytes", workflow, e.EventType, size)
		}
		events, bytes = events+1, bytes+size
	}
	return events, bytes
}
