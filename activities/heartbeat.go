package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// Progress is what a running activity tells of itself, read by `status` and the live table.
type Progress struct {
	What  string `json:"what"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

// beats is how often a stage heartbeats at least, since that is also how it hears that its workflow was cancelled.
const beats = 5 * time.Second

// beat heartbeats in the background until stopped. The first beat comes after a while: each costs the server a
// transaction, and a stage that is done by then needs none.
func beat(ctx context.Context) (stop func()) {
	every := min(activity.GetInfo(ctx).HeartbeatTimeout/3, beats)
	if every <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// finishing is ctx for work that is brought to its end although its workflow was cancelled meanwhile: it is paid for, or
// costs more than a turn to do again. It still ends when the worker stops.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel()
		case <-work.Done():
		}
	}()
	return work, cancel
}
