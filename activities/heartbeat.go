package activities

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// Progress is what a running activity tells of itself, read by `status` and the live table.
type Progress struct {
	What  string `json:"what"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Job is the update job that tells this, where it is one of its own.
	Job *rl.JobStatus `json:"job,omitempty"`
}

// beats is how often a stage heartbeats at least, since that is also how it hears that its workflow was cancelled.
const beats = 5 * time.Second

// beat heartbeats in the background until stopped, also once its workflow was cancelled: a stage that is brought to its
// end all the same must not be taken for lost. The first beat comes after a while: each costs the server a
// transaction, and a stage that is done by then needs none.
func beat(ctx context.Context) (stop func()) {
	return beating(ctx, min(activity.GetInfo(ctx).HeartbeatTimeout/3, beats), func() { activity.RecordHeartbeat(context.WithoutCancel(ctx)) })
}

// Serving is what the heartbeats of rollouts tell of the policy servers, as the worker sees them.
type Serving struct {
	Servers []policy.ServerStatus `json:"servers"`
}

// beatServing is beat for rollouts, which also tells of policy servers: at once when one is ejected or readmitted, and at
// the end of a stage that fails. The embedded policy, in this process, is nothing to tell of.
func (a *Activities) beatServing(ctx context.Context, s Stage) (stop func(error)) {
	quiet := context.WithoutCancel(ctx)
	every := min(activity.GetInfo(ctx).HeartbeatTimeout/3, beats)
	told, states := time.Now(), ""
	stopped := beating(ctx, min(every, time.Second), func() {
		client, now := a.remote(s), ""
		if client != nil {
			for _, one := range client.Status() {
				now += one.State + " "
			}
		}
		if now == states && time.Since(told) < every {
			return
		}
		told, states = time.Now(), now
		serving(quiet, client)
	})
	return func(err error) {
		stopped()
		if client := a.remote(s); client != nil && err != nil {
			serving(quiet, client)
		}
	}
}

func serving(ctx context.Context, c *policy.Client) {
	if c == nil {
		activity.RecordHeartbeat(ctx)
		return
	}
	activity.RecordHeartbeat(ctx, Serving{c.Status()})
}

// remote is the client of a stage's policy servers; nil where it is not made yet, or the policy is embedded.
func (a *Activities) remote(s Stage) *policy.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.policies[s.policyKey()]
	if e == nil {
		return nil
	}
	select {
	case <-e.done:
	default:
		return nil
	}
	if e.v == nil || e.v.Embedded() {
		return nil
	}
	return e.v
}

func beating(ctx context.Context, every time.Duration, once func()) (stop func()) {
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
				once()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// toldKey finds, in a context, what a stage told of its progress last.
type toldKey struct{}

// telling is beat for a stage that tells of its progress: each beat repeats what it told last, since a beat that says
// nothing would take that away.
func telling(ctx context.Context) (context.Context, func()) {
	ctx = context.WithValue(ctx, toldKey{}, new(atomic.Pointer[Progress]))
	return ctx, beating(ctx, min(activity.GetInfo(ctx).HeartbeatTimeout/3, beats), func() { repeat(ctx) })
}

func repeat(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if p := ctx.Value(toldKey{}).(*atomic.Pointer[Progress]).Load(); p != nil {
		activity.RecordHeartbeat(ctx, *p)
		return
	}
	activity.RecordHeartbeat(ctx)
}

// tell tells of the progress of a stage. A later attempt says that it is one: its count starts again.
func tell(ctx context.Context, p Progress) {
	if !activity.IsActivity(ctx) { // the embedded trainer in a process of its own
		return
	}
	if activity.GetInfo(ctx).Attempt > 1 {
		p.What += ", begun again"
	}
	tellAs(ctx, p)
}

// tellAs is tell of something whose count does not start again with the stage's attempts.
func tellAs(ctx context.Context, p Progress) {
	if last, ok := ctx.Value(toldKey{}).(*atomic.Pointer[Progress]); ok {
		last.Store(&p)
	}
	activity.RecordHeartbeat(context.WithoutCancel(ctx), p)
}

// finishing is ctx for work that is brought to its end although its workflow was cancelled meanwhile: it is paid for, or
// costs more than a turn to do again. It still ends when the worker stops, and at the stage's deadline.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if end, ok := ctx.Deadline(); ok {
		work, cancel = context.WithDeadline(context.WithoutCancel(ctx), end)
	}
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel()
		case <-work.Done():
		}
	}()
	return work, cancel
}
