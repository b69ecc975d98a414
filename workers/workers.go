// Package workers runs the line: it registers workflows and activities on their task queues, sizes them, and
// stops them so that nothing is lost. It is the same for the embedded server and for a cluster.
//
// A worker holds no state of a run. Killed at any moment, its work is given to another one, which finds in the
// store what was done.
package workers

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Queues are all task queues, in the order of the line.
var Queues = []string{workflows.ControlQueue, workflows.RolloutQueue, workflows.JudgeQueue, workflows.UpdateQueue}

// Options say what a process works on.
type Options struct {
	Client     client.Client
	Activities *activities.Activities
	Queues     []string // a subset of Queues; empty: all
}

// Workers are the running workers of this process.
type Workers struct {
	running []worker.Worker
	failed  chan error // room for one of each
}

// stopTimeout is how long Stop waits for stages, which are cut off at once (see cutOff), to come to their end.
const stopTimeout = 5 * time.Second

// heartbeats go to the server at most this often; with them a stage hears that it was cancelled.
const heartbeats = 5 * time.Second

// sizes of a worker by queue: activities at once. Live episodes are bounded by the policy's client, not here, so
// that groups waiting for a place cost no more than a goroutine. Of the updates, those that this machine makes wait for
// one another in their stage.
var sizes = map[string]int{
	workflows.ControlQueue: 32,
	workflows.RolloutQueue: 2048,
	workflows.JudgeQueue:   64,
	workflows.UpdateQueue:  64,
}

// Start starts a worker for each queue.
func Start(o Options) (*Workers, error) {
	if len(o.Queues) == 0 {
		o.Queues = Queues
	}
	// A killed process leaves sticky queues behind; replay is cheap beside waiting for them.
	w := &Workers{failed: make(chan error, len(o.Queues))}
	for _, q := range o.Queues {
		if !slices.Contains(Queues, q) {
			w.Stop()
			return nil, rl.Errorf(rl.Invalid, "queue "+q, "no such queue; there are %v", Queues)
		}
		one := worker.New(o.Client, q, options(q, w.failed))
		register(one, q, o.Activities)
		if err := one.Start(); err != nil {
			w.Stop()
			return nil, fmt.Errorf("worker for queue %s: %w", q, err)
		}
		w.running = append(w.running, one)
	}
	return w, nil
}

// Failed tells of a worker that ended by itself, for example two minutes after its namespace is gone. It takes no more
// work: the process should end too, so that what watches over it sees that.
func (w *Workers) Failed() <-chan error { return w.failed }

// Stop stops taking work, cuts running stages off, and returns when all workers have ended.
func (w *Workers) Stop() {
	done := make(chan struct{})
	for _, one := range w.running {
		go func() { one.Stop(); done <- struct{}{} }()
	}
	for range w.running {
		<-done
	}
	w.running = nil
}

func options(queue string, failed chan<- error) worker.Options {
	o := worker.Options{
		OnFatalError:                       func(err error) { failed <- fmt.Errorf("the worker for queue %s ended: %w", queue, err) },
		MaxConcurrentActivityExecutionSize: sizes[queue],
		MaxConcurrentActivityTaskPollers:   8, // 2 halve the rate at which short activities start
		WorkerStopTimeout:                  stopTimeout,
		Interceptors:                       []interceptor.WorkerInterceptor{&cutOff{}},
		DisableWorkflowWorker:              queue != workflows.ControlQueue,
		StickyScheduleToStartTimeout:       time.Second, // the default 5 s shows when a worker was killed
		MaxHeartbeatThrottleInterval:       heartbeats,
	}
	if queue == workflows.UpdateQueue {
		o.MaxHeartbeatThrottleInterval = time.Second // its heartbeats carry progress for people
	}
	return o
}

func register(w worker.Worker, queue string, a *activities.Activities) {
	switch queue {
	case workflows.ControlQueue:
		w.RegisterWorkflow(workflows.Train)
		w.RegisterWorkflow(workflows.Collect)
		w.RegisterWorkflow(workflows.Evaluate)
		w.RegisterWorkflow(workflows.Replay)
		w.RegisterActivity(a.SampleGroup)
		w.RegisterActivity(a.ComputeAdvantages)
		w.RegisterActivity(a.Change)
		w.RegisterActivity(a.Reopen)
		w.RegisterActivity(a.Checkpoint)
		w.RegisterActivity(a.Publish)
		w.RegisterActivity(a.Restore)
		w.RegisterActivity(a.Promote)
		w.RegisterActivity(a.ScoreEvaluation)
		w.RegisterWorkflow(workflows.Scheduled)
		w.RegisterActivityWithOptions(scheduled{a.Store}.prepare, activity.RegisterOptions{Name: workflows.PrepareActivity})
	case workflows.RolloutQueue:
		w.RegisterActivity(a.RunTrajectory)
		w.RegisterActivity(a.ReplayEpisode)
	case workflows.JudgeQueue:
		w.RegisterActivity(a.JudgeGroup)
	case workflows.UpdateQueue:
		w.RegisterActivity(a.UpdatePolicy)
		w.RegisterActivity(a.CancelJob)
	}
}
