package activities

import (
	"context"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// PublishIn names the version to serve, and what to tell people of the update that made it.
type PublishIn struct {
	Stage
	Summary rl.UpdateSummary `json:"summary"`
}

// PublishOut says whether the update's summary is this one or was written before, and which events it tells.
type PublishOut struct {
	New  bool       `json:"new"`
	Told []rl.Event `json:"told,omitempty"`
}

// Publish makes the new version ready on the policy server, then writes the update's summary: once people read
// of an update, its version answers.
func (a *Activities) Publish(ctx context.Context, in PublishIn) (PublishOut, error) {
	defer beat(ctx)()
	out, err := a.publish(ctx, in)
	return out, temporalError(ctx, err)
}

func (a *Activities) publish(ctx context.Context, in PublishIn) (out PublishOut, err error) {
	start := time.Now()
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	s := in.Summary
	if err := a.ready(ctx, in.Stage, st, cfg, s.Version); err != nil {
		return out, err
	}
	s.Schema, s.Run, s.Update, s.Time = rl.UpdateSummarySchema, in.Run, in.Update, time.Now().UTC()
	s.Seconds.Publish = time.Since(start).Seconds()
	_, recorded, err := store.PutJSON(ctx, st, store.SummaryKey(in.Run, in.Update), s)
	return PublishOut{New: recorded.Time.Equal(s.Time), Told: recorded.Events}, err
}
