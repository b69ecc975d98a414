package activities

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
)

// A stage that is silent for a while is still where it said that it was. (The server hears of the first beat of each
// stage alone, as those after it come too soon.)
func TestABeatDoesNotTakeProgressAway(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	var heard []Progress
	environment.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var p Progress
		if details.HasValues() {
			if err := details.Get(&p); err != nil {
				t.Error(err)
			}
		}
		heard = append(heard, p)
	})
	before := &Progress{What: "batches", Done: 3, Total: 10}
	stage := func(ctx context.Context, how string) error {
		ctx, stop := telling(ctx)
		defer stop()
		switch last := ctx.Value(toldKey{}).(*atomic.Pointer[Progress]); how {
		case "silent":
			repeat(ctx)
		case "told":
			tell(ctx, Progress{What: "batches", Done: 2, Total: 10})
			if got := *last.Load(); got != (Progress{What: "batches", Done: 2, Total: 10}) {
				t.Errorf("%v is kept to be repeated", got)
			}
		case "silent since":
			last.Store(before)
			repeat(ctx)
		}
		return nil
	}
	environment.RegisterActivity(stage)
	for _, how := range []string{"silent", "told", "silent since"} {
		if _, err := environment.ExecuteActivity(stage, how); err != nil {
			t.Fatal(err)
		}
	}
	if want := []Progress{{}, {What: "batches", Done: 2, Total: 10}, {What: "batches", Done: 3, Total: 10}}; !slices.Equal(heard, want) {
		t.Errorf("the server was told %v, want %v", heard, want)
	}
}
