package main

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// quiet is how long a command waits for a first answer before it says so.
const quiet = 1500 * time.Millisecond

// reach tries something of what, for at most patience. When that takes long it says what is waited for, and until when.
// The error is Unavailable when there was no answer in time.
func (a *app) reach(ctx context.Context, what string, try func(context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	stop := after(min(quiet, a.patience/4), func() { a.out.say("waiting for %s; giving up after %v", what, a.patience) })
	defer stop()
	err := try(waiting)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return rl.Errorf(rl.Unavailable, what, "no answer within %v (%w)", a.patience, waiting.Err())
	}
	return err
}

// openStore opens the store outside: its credentials may come from a service that takes long.
func (c *conn) openStore(ctx context.Context, a *app) error {
	return a.reach(ctx, "the credentials of "+c.URI, func(ctx context.Context) (err error) {
		c.Store, err = store.Open(ctx, c.URI, c.options)
		return err
	})
}

// storeAt is where the store is, in words.
func (c *conn) storeAt(a *app) string {
	if endpoint := a.getenv("AWS_ENDPOINT_URL_S3"); c.options.Endpoint == "" && endpoint != "" {
		return "store " + c.URI + " at " + endpoint
	}
	return "store " + c.URI
}

// reachStore makes sure that the store answers, with whatever: what the command asks of it can fail by itself.
func (c *conn) reachStore(ctx context.Context, a *app) error {
	return a.reach(ctx, c.storeAt(a), func(ctx context.Context) error {
		_, err := c.Store.Head(ctx, "check/none")
		if rl.KindOf(err) != rl.Unavailable {
			return nil
		}
		return err
	})
}

// reachTemporal makes sure that Temporal answers, with whatever.
func (c *conn) reachTemporal(ctx context.Context, a *app) error {
	what := "Temporal " + c.address(a)
	return a.reach(ctx, what, func(ctx context.Context) error {
		_, err := c.Temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		if err == nil || !passing(err) {
			return nil
		}
		return rl.Errorf(rl.Unavailable, what, "%w", err)
	})
}

// after runs f when a time has passed, unless stop is called before. Once stop returns, f does not run any more.
func after(d time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(done)
		f()
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-done
		}
	})
}
