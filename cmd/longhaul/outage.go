package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
)

// outage is a time in which Temporal or the store does not answer.
type outage struct {
	what  string
	since time.Time
}

// wait takes the outcome of a look at the run. It returns an error that ends following; one that may pass is told of
// once, as is its end.
func (f *follower) wait(ctx context.Context, err error) error {
	f.room()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		if o := f.outage; o != nil {
			f.table.say("%s answers again, after %s", o.what, render.Duration(time.Since(o.since)))
			f.outage = nil
		}
		return nil
	case !passing(err):
		return err
	}
	if f.over != nil {
		if err := f.over(); err != nil {
			return err
		}
	}
	if f.outage == nil {
		f.outage = &outage{"Temporal", time.Now()}
		if rl.KindOf(err) != "" {
			f.outage.what = "the store"
		}
		f.table.say("waiting for %s since %s: %v", f.outage.what, f.outage.since.Format("15:04:05"), err)
	}
	return nil
}

// room tells of a full disk, once, and of its end: no stage can record its failure there, so that the run would seem to
// be at work.
func (f *follower) room() {
	if f.full == nil {
		return
	}
	why := f.full()
	switch {
	case why != "" && !f.isFull:
		f.table.say("%s", why)
	case why == "" && f.isFull:
		f.table.say("there is room on the disk again")
	}
	f.isFull = why != ""
}

// passing says that a failure may be over soon: a server that is away, slow or busy.
func passing(err error) bool {
	if k := rl.KindOf(err); k != "" {
		return k == rl.Unavailable
	}
	_, away := errors.AsType[*serviceerror.Unavailable](err)
	_, slow := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, busy := errors.AsType[*serviceerror.ResourceExhausted](err)
	return away || slow || busy || errors.Is(err, context.DeadlineExceeded)
}

// roomNeeded is the free space below which the embedded parts may fail for want of it.
const roomNeeded = 16 << 20

// diskFull says so when the embedded parts have no room to write.
func (a *app) diskFull(c *conn) string {
	if c.parts == nil && c.Holder == nil {
		return ""
	}
	free, err := freeBytes(a.data)
	if err != nil || free >= roomNeeded {
		return ""
	}
	return fmt.Sprintf("the disk of %s is full or nearly so (%s free): make room, or the run stands still until there is some", filepath.Clean(a.data), size(free))
}

// holderGone says so when the process whose parts are used no longer holds the data directory: its ports will not
// answer again.
func (a *app) holderGone(c *conn) error {
	if c.Holder == nil {
		return nil
	}
	if p, held, err := dev.Attach(a.data); err != nil || held && p.PID == c.Holder.PID {
		return nil
	}
	return rl.Errorf(rl.Unavailable, "data directory", "process %d, which held %s, has ended; its work goes on with the next that does", c.Holder.PID, filepath.Clean(a.data))
}
