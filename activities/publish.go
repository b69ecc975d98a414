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

// PublishOut says whether the update's summary is this one or was written before, and which of the workflow's events it
// tells.
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
	if in.Update > 0 {
		if err := observe(ctx, st, cfg, &s); err != nil {
			return out, err
		}
	}
	s.Seconds.Publish = time.Since(start).Seconds()
	_, recorded, err := store.PutJSON(ctx, st, store.SummaryKey(in.Run, in.Update), s)
	out.New = err == nil && recorded.Time.Equal(s.Time)
	for _, e := range recorded.Events {
		switch {
		case e.Kind != rl.Warning: // those are the workflow's own; what stages find is no part of its history
			out.Told = append(out.Told, e)
		case out.New:
			a.log().Warn(e.Text, "run", in.Run, "update", in.Update, "warning", e.Name)
		}
	}
	return out, err
}
