package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Outages are waited for: a stage is tried until it works or fails for good (see activities/errors.go), soon
// after the first failure, since a restarted worker is back within a second, and then ever more patiently.
var untilItWorks = &temporal.RetryPolicy{
	InitialInterval:    50 * time.Millisecond,
	BackoffCoefficient: 2,
	MaximumInterval:    10 * time.Second,
}

// Cancelled stages are waited for: what is under way comes to its own end, or to a turn's, and is recorded.

// heartbeatTimeout is how long a stage may be silent before it is given to another worker.
const heartbeatTimeout = 30 * time.Second

// bookkeeping is for stages that read and write the store and end in seconds.
func bookkeeping(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           ControlQueue,
		StartToCloseTimeout: 15 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         untilItWorks,
		WaitForCancellation: true,
	})
}

// noBeat is bookkeeping for stages that are one or two requests and send no heartbeat.
func noBeat(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           ControlQueue,
		StartToCloseTimeout: 2 * time.Minute,
		RetryPolicy:         untilItWorks,
		WaitForCancellation: true,
	})
}

// episodes is for rollouts. The episode's own deadline ends it from inside; this one, outside the client, is for a
// worker that hangs while it heartbeats.
func episodes(ctx workflow.Context, episode time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           RolloutQueue,
		StartToCloseTimeout: 6*time.Hour + 2*episode,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         untilItWorks,
		WaitForCancellation: true,
	})
}

// judging is for scoring a group. A judge's calls have their own deadline, and are recorded one by one; this one, outside the
// client, leaves room for passes, asks and the wait for a place.
func judging(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           JudgeQueue,
		StartToCloseTimeout: 6 * time.Hour,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         untilItWorks,
		WaitForCancellation: true,
	})
}

// updating is for the update job.
func updating(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           UpdateQueue,
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    2 * heartbeatTimeout, // it owns the processor, and losing one costs the most
		RetryPolicy:         untilItWorks,
		WaitForCancellation: true,
	})
}
