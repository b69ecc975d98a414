package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// A stage that fails again and again has been waited for since it was asked for, not since its newest attempt.
func TestWaitingSinceTheFirstAttempt(t *testing.T) {
	d, err := dev.Start(t.Context(), dev.Options{Dir: t.TempDir(), Temporal: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	c, err := client.Dial(client.Options{HostPort: d.Process().Temporal, Namespace: dev.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, workflows.ControlQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 300 * time.Millisecond, BackoffCoefficient: 1}})
		return workflow.ExecuteActivity(ctx, "Restore").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "Train"})
	w.RegisterActivityWithOptions(func(context.Context) error { return errors.New("no answer") }, activity.RegisterOptions{Name: "Restore"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	started := time.Now()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: workflows.ControlQueue}, "Train")
	if err != nil {
		t.Fatal(err)
	}
	for attempt := int32(0); attempt < 4; time.Sleep(50 * time.Millisecond) {
		described, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
		if err != nil {
			t.Fatal(err)
		}
		if len(described.PendingActivities) == 0 || described.PendingActivities[0].Attempt < 3 {
			if time.Since(started) > 3*time.Minute {
				t.Fatal("no third attempt")
			}
			continue
		}
		a := described.PendingActivities[0]
		if a.State != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			continue // it is at work, and waited for by nobody
		}
		attempt = a.Attempt
		var s runStatus
		observer{client: c, scheduled: map[string]time.Time{}}.look(t.Context(), &s, described)
		if s.WaitingFor == nil || s.WaitingFor.What != "Restore" || s.WaitingFor.Why != "no answer" {
			t.Fatalf("waiting for %+v", s.WaitingFor)
		}
		if since, newest := s.WaitingFor.Since, a.ScheduledTime.AsTime(); newest.Sub(since) < 300*time.Millisecond {
			t.Fatalf("attempt %d: since %v, the newest attempt is of %v", a.Attempt, since, newest)
		}
	}
}

// What a stage waits for is told once in an update, and not before it has waited for a while.
func TestAStageThatWaitsIsToldOf(t *testing.T) {
	var out bytes.Buffer
	f := follower{table: (&output{stderr: &out}).updates(2)}
	for _, s := range []struct {
		update rl.UpdateNumber
		waited time.Duration
	}{{1, time.Second}, {1, time.Minute}, {1, time.Hour}, {2, time.Second}, {2, time.Minute}} {
		f.stuck(runStatus{State: workflows.Running, Update: s.update, WaitingFor: &waiting{"JudgeGroup", time.Now().Add(-s.waited), "no answer"}})
	}
	f.stuck(runStatus{State: workflows.Paused, Update: 3, WaitingFor: &waiting{"resume", time.Now().Add(-time.Minute), "a limit"}})
	got := out.String()
	if strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "update 1 waits for JudgeGroup since ") || !strings.Contains(got, "\nupdate 2 waits for JudgeGroup since ") ||
		!strings.HasSuffix(got, ", and tries again: no answer\n") {
		t.Errorf("%s", got)
	}
}
