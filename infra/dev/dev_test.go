package dev

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	queue   = "test"
	proceed = "proceed" // the signal between the two activities of twoSteps
)

// twoSteps runs an activity, waits for a signal and runs another: it can be left in the middle.
func twoSteps(ctx workflow.Context) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    5 * time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond},
	})
	var first, second string
	if err := workflow.ExecuteActivity(ctx, "Step", "first").Get(ctx, &first); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, proceed).Receive(ctx, nil)
	err := workflow.ExecuteActivity(ctx, "Step", "second").Get(ctx, &second)
	return first + " " + second, err
}

// begin starts a Dev in dir with Temporal, and connects to it.
func begin(t testing.TB, dir string) (*Dev, client.Client) {
	t.Helper()
	d, err := Start(t.Context(), Options{Dir: dir, Temporal: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d, connect(t, d)
}

func connect(t testing.TB, d *Dev) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: d.Process().Temporal, Namespace: Namespace, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// work runs a worker whose activity Step is step.
func work(t testing.TB, c client.Client, step func(context.Context, string) (string, error)) (stop func()) {
	t.Helper()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(twoSteps)
	w.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: "Step"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w.Stop
}

func TestAWorkflowGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	d, c := begin(t, dir)
	done := make(chan string, 10)
	step := func(_ context.Context, name string) (string, error) {
		done <- name
		return name, nil
	}
	stop := work(t, c, step)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "wf", TaskQueue: queue,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("LonghaulRun").ValueSet("orders"),
			temporal.NewSearchAttributeKeyInt64("LonghaulUpdate").ValueSet(3),
			temporal.NewSearchAttributeKeyKeyword("LonghaulState").ValueSet("running"),
		),
	}, twoSteps)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "first" {
		t.Fatalf("first activity was %q", got)
	}
	for recorded := false; !recorded; time.Sleep(10 * time.Millisecond) { // or the worker's end would lose it
		d, err := c.DescribeWorkflowExecution(t.Context(), "wf", "")
		if err != nil {
			t.Fatal(err)
		}
		recorded = len(d.PendingActivities) == 0
	}
	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
	if err != nil || ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() != 720*time.Hour {
		t.Errorf("namespace: retention %v, %v", ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err)
	}
	before := d.Process()
	stop()
	c.Close()
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, processFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process.json is still there after Stop: %v", err)
	}

	began := time.Now()
	d, c = begin(t, dir)
	t.Logf("second start took %v", time.Since(began))
	if after := d.Process(); after.Temporal != before.Temporal {
		t.Errorf("Temporal was at %s, and after a restart at %s", before.Temporal, after.Temporal)
	}
	defer work(t, c, step)()
	if err := c.SignalWorkflow(t.Context(), "wf", "", proceed, nil); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := c.GetWorkflow(t.Context(), "wf", "").Get(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if got != "first second" {
		t.Errorf("workflow returned %q", got)
	}
	if next := <-done; next != "second" || len(done) > 0 {
		t.Errorf("after the restart %q ran, and %d more", next, len(done))
	}
}
