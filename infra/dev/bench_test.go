package dev

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func noop(context.Context) error { return nil }

// inARow runs n activities, one after the other, and returns how long each took.
func inARow(ctx workflow.Context, n int) ([]time.Duration, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	took := make([]time.Duration, n)
	for i := range took {
		began := workflow.Now(ctx)
		if err := workflow.ExecuteActivity(ctx, noop).Get(ctx, nil); err != nil {
			return nil, err
		}
		took[i] = workflow.Now(ctx).Sub(began)
	}
	return took, nil
}

// BenchmarkActivity is the time from scheduling an activity that does nothing to the workflow's next step.
func BenchmarkActivity(b *testing.B) {
	_, c := begin(b, b.TempDir())
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(inARow)
	w.RegisterActivity(noop)
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	for b.Loop() {
		const n = 300
		run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: queue}, inARow, n)
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		if err := run.Get(b.Context(), &took); err != nil {
			b.Fatal(err)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[n/2].Microseconds()), "p50-us/activity")
		b.ReportMetric(float64(took[n*99/100].Microseconds()), "p99-us/activity")
	}
}

// BenchmarkStart is the time from nothing, and then from a directory in use, to a server that answers.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		d, err := Start(b.Context(), Options{Dir: dir, Temporal: true, UI: true})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := d.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
