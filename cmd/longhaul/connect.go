package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// want says what a command needs of its surroundings.
type want struct {
	Temporal bool   // workflows; else the store is enough
	Store    string // run.yaml's store; empty: LONGHAUL_STORE, else the embedded one
	// UI is set by commands that work on runs: Temporal's web pages too, where Temporal is started here. A process
	// that holds the data directory only to look is waited for.
	UI bool
	// Make makes the data directory where it is missing. Commands that look leave nothing behind.
	Make bool
}

// conn is what a command works with.
type conn struct {
	Store   *store.Store
	URI     string        // s3://bucket/prefix, as workers and workflows name it
	options store.Options // how the embedded server is reached; without an endpoint: the AWS environment
	// Temporal dials at its first use. It is nil when the command did not want it and there is none to be had
	// without starting one.
	Temporal  client.Client
	Namespace string // of Temporal
	// Holder is the process that holds the data directory, when that is another one.
	Holder *dev.Process
	parts  *dev.Dev // of this process
}

// connect reaches Temporal and the store, each where it is: outside, when the environment names it (external); else
// with the process that holds the data directory; else in this process, for as long as the command runs.
//
// Errors: NotFound when there is no data directory, Conflict when another process takes it this moment, Invalid for
// an environment that makes no sense, Unavailable when a part that is wanted does not answer.
func (a *app) connect(ctx context.Context, w want) (*conn, error) {
	c, err := a.find(ctx, w)
	if err != nil {
		return c, err
	}
	if err = c.reachStore(ctx, a); err == nil && w.Temporal {
		err = c.reachTemporal(ctx, a)
	}
	if err != nil {
		c.Close()
	}
	return c, err
}

// find is connect without asking whether the parts answer.
func (a *app) find(ctx context.Context, w want) (c *conn, err error) {
	c = &conn{URI: a.storeURI(w), options: store.Options{Log: a.log}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.URI != "" { // a wrong address is said before anything is started
		if err = c.openStore(ctx, a); err != nil && w.Store == "" {
			err = fmt.Errorf("LONGHAUL_STORE: %w", err)
		}
		if err != nil {
			return c, err
		}
	}
	if external := a.externalTemporal(); external {
		if err := c.dialOutside(a); err != nil {
			return c, err
		}
	}
	if (c.Temporal == nil && w.Temporal) || c.URI == "" {
		if err := c.embedded(ctx, a, w); err != nil {
			return c, err
		}
	}
	if c.Store == nil {
		c.Store, err = store.Open(ctx, c.URI, c.options)
	}
	return c, err
}

// Close gives back what connect opened. Embedded parts that it started stop.
func (c *conn) Close() error {
	if c.Temporal != nil {
		c.Temporal.Close()
	}
	if c.parts != nil {
		return c.parts.Stop()
	}
	return nil
}

// OpenStore opens a store by the URI that a workflow names, with this connection's way to reach it.
func (c *conn) OpenStore(ctx context.Context, uri string) (*store.Store, error) {
	return store.Open(ctx, uri, c.options)
}

// OpenBase opens where a policy.base lies. The embedded store has one bucket: any other is outside, where the AWS environment says, as
// it is without an embedded store.
func (c *conn) OpenBase(ctx context.Context, uri string) (*store.Store, error) {
	const own = "s3://" + dev.Bucket
	if c.options.Endpoint == "" || uri == own || strings.HasPrefix(uri, own+"/") {
		return c.OpenStore(ctx, uri)
	}
	s, err := store.Open(ctx, uri, store.Options{Log: c.options.Log})
	if err != nil {
		return nil, rl.Errorf(rl.KindOf(err), "policy.base "+uri, "the store is the embedded one, whose bucket is %s; this one is read as the AWS environment says: %w", dev.Bucket, err)
	}
	return s, nil
}

// storeURI is the store outside, "" for the embedded one.
func (a *app) storeURI(w want) string {
	if w.Store != "" {
		return w.Store
	}
	return a.getenv("LONGHAUL_STORE")
}

// externalTemporal: a profile file that merely lies in its default place does not count, or a laptop set up for some
// other cluster could not run the demo.
func (a *app) externalTemporal() bool {
	return a.getenv("TEMPORAL_ADDRESS") != "" || a.getenv("TEMPORAL_PROFILE") != "" || a.getenv("TEMPORAL_CONFIG_FILE") != ""
}

func (c *conn) dialOutside(a *app) error {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return rl.Errorf(rl.Invalid, "Temporal environment", "%w", err)
	}
	return c.dial(a, o)
}

func (c *conn) dial(a *app, o client.Options) (err error) {
	o.Logger = log.NewStructuredLogger(a.log)
	if c.Namespace = o.Namespace; c.Namespace == "" {
		c.Namespace = client.DefaultNamespace
	}
	if c.Temporal, err = client.NewLazyClient(o); err != nil {
		return rl.Errorf(rl.Invalid, "Temporal "+o.HostPort, "%w", err)
	}
	return nil
}

// patience is how long connect waits for a part that does not answer, and for a process that holds the data directory
// and is starting, stopping, or only looking at something.
const patience = 20 * time.Second

// embedded uses the parts of the data directory that are not outside.
func (c *conn) embedded(ctx context.Context, a *app, w want) error {
	if _, err := os.Stat(a.data); errors.Is(err, os.ErrNotExist) {
		return rl.Errorf(rl.NotFound, "data directory", "there is no %s here; run `longhaul demo`, or name another with --data", a.data)
	}
	waiting, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	for {
		again, err := c.tryEmbedded(ctx, a, w)
		if err == nil || !again {
			return err
		}
		a.out.now("waiting: %v", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-waiting.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tryEmbedded joins the process that holds the data directory, or starts the parts here. again says that the error may
// pass by itself soon.
func (c *conn) tryEmbedded(ctx context.Context, a *app, w want) (again bool, err error) {
	p, held, err := dev.Attach(a.data)
	if err != nil {
		return rl.KindOf(err) == rl.Unavailable, err
	}
	if held {
		if missing := c.missing(p, w); missing != "" {
			return true, rl.Errorf(rl.Conflict, "data directory", "%s is held by process %d, which %s; try again when it has ended", filepath.Clean(a.data), p.PID, missing)
		}
		c.Holder = &p
		return false, c.use(a, p)
	}
	err = c.start(ctx, a, dev.Options{Dir: a.data, S3: c.URI == "", Temporal: w.Temporal && c.Temporal == nil, UI: w.UI, Log: a.log})
	if rl.KindOf(err) != rl.Conflict {
		return false, err
	}
	_, held, _ = dev.Attach(a.data) // another process was faster, or else the conflict lies in the directory
	return held, err
}

// missing says what the holder's process does not run that is wanted.
func (c *conn) missing(p dev.Process, w want) string {
	switch {
	case c.URI == "" && p.S3 == "":
		return "does not run the embedded store"
	case w.Temporal && c.Temporal == nil && p.Temporal == "":
		return "does not run Temporal"
	case w.UI && p.Policy == "":
		return "does not work on runs"
	}
	return ""
}

// start starts the missing parts in this process.
func (c *conn) start(ctx context.Context, a *app, o dev.Options) (err error) {
	if c.parts, err = dev.Start(ctx, o); err != nil {
		return err
	}
	if err := c.use(a, c.parts.Process()); err != nil {
		return err
	}
	c.options.Transport = c.parts.S3Transport()
	if a.s3 != nil {
		c.options.Transport = a.s3(c.options.Transport)
	}
	return nil
}

// use takes from a process's parts what is not outside.
func (c *conn) use(a *app, p dev.Process) error {
	if c.URI == "" {
		c.URI = "s3://" + dev.Bucket
		c.options = store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Log: a.log}
	}
	if c.Temporal != nil || p.Temporal == "" {
		return nil
	}
	return c.dial(a, client.Options{HostPort: p.Temporal, Namespace: dev.Namespace})
}
