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

// beat heartbeats in the background until stopped. The first beat comes after a third of the heartbeat timeout:
// each costs the server a transaction, and a stage that is done by then needs none.
func beat(ctx context.Context) (stop func()) {
	every := activity.GetInfo(ctx).HeartbeatTimeout / 3
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
