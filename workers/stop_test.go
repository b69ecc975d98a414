package workers

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A stage that would go on for long ends with its worker, and the next worker has it at once: no heartbeat is missed
// first, and no back-off waited for.
func TestAStopCutsStagesOffAndTheNextWorkerGoesOn(t *testing.T) {
	d, err := dev.Start(t.Context(), dev.Options{Dir: t.TempDir(), Temporal: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	c, err := client.Dial(client.Options{HostPort: d.Process().Temporal, Namespace: dev.Namespace, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := make(chan bool, 10)
	start := func() worker.Worker {
		o := options(workflows.ControlQueue, nil)
		o.WorkerStopTimeout = time.Minute
		w := worker.New(c, workflows.ControlQueue, o)
		w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (attempt int32, err error) {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour})
			err = workflow.ExecuteActivity(ctx, "Long").Get(ctx, &attempt)
			return attempt, err
		}, workflow.RegisterOptions{Name: "One"})
		w.RegisterActivityWithOptions(func(ctx context.Context) (int32, error) {
			began <- true
			if n := activity.GetInfo(ctx).Attempt; n > 1 {
				return n, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}, activity.RegisterOptions{Name: "Long"})
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := start()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "one", TaskQueue: workflows.ControlQueue}, "One")
	if err != nil {
		t.Fatal(err)
	}
	<-began
	stopped := time.Now()
	first.Stop()
	if took := time.Since(stopped); took > time.Minute/2 {
		t.Errorf("the stop took %v", took)
	}
	described, err := c.DescribeWorkflowExecution(t.Context(), "one", "")
	if err != nil || len(described.PendingActivities) != 1 {
		t.Fatalf("%v, %v", described, err)
	}
	if got := described.PendingActivities[0].GetLastFailure().GetApplicationFailureInfo().GetType(); got != Lost {
		t.Errorf("the stage failed with %q", got)
	}
	second := start()
	defer second.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var attempt int32
	if err := run.Get(ctx, &attempt); err != nil || attempt != 2 {
		t.Errorf("attempt %d, %v", attempt, err)
	}
}
