package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	UI       bool   // Temporal's web pages too, where Temporal is started here
}

// conn is what a command works with.
type conn struct {
	Store   *store.Store
	URI     string        // s3://bucket/prefix, as workers and workflows name it
	options store.Options // how the embedded server is reached; zero: the AWS environment
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
// an environment that makes no sense.
func (a *app) connect(ctx context.Context, w want) (c *conn, err error) {
	c = &conn{URI: a.storeURI(w)}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
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
	c.Store, err = store.Open(ctx, c.URI, c.options)
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

// embedded uses the parts of the data directory that are not outside.
func (c *conn) embedded(ctx context.Context, a *app, w want) error {
	if _, err := os.Stat(a.data); errors.Is(err, os.ErrNotExist) {
		return rl.Errorf(rl.NotFound, "data directory", "there is no %s here; run `longhaul demo`, or name another with --data", a.data)
	}
	p, held, err := a.holder(ctx)
	if err != nil {
		return err
	}
	if !held {
		return c.start(ctx, a, dev.Options{Dir: a.data, S3: c.URI == "", Temporal: w.Temporal && c.Temporal == nil, UI: w.UI, Log: a.log})
	}
	c.Holder = &p
	return c.use(a, p, w)
}

// holderPatience is how long connect waits for a process that is just starting or stopping.
const holderPatience = 20 * time.Second

// holder is the process that holds the data directory; one that is starting is waited for.
func (a *app) holder(ctx context.Context) (p dev.Process, held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, holderPatience)
	defer cancel()
	for {
		p, held, err = dev.Attach(a.data)
		if rl.KindOf(err) != rl.Unavailable {
			return p, held, err
		}
		select {
		case <-ctx.Done():
			return p, held, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// start starts the missing parts in this process.
func (c *conn) start(ctx context.Context, a *app, o dev.Options) (err error) {
	if c.parts, err = dev.Start(ctx, o); err != nil {
		return err
	}
	if err := c.use(a, c.parts.Process(), want{Temporal: o.Temporal}); err != nil {
		return err
	}
	c.options.Transport = c.parts.S3Transport()
	return nil
}

// use takes from a process's parts what is not outside.
func (c *conn) use(a *app, p dev.Process, w want) error {
	if c.URI == "" {
		if p.S3 == "" {
			return rl.Errorf(rl.Conflict, "data directory", "%s is held by process %d, which does not run the embedded store", filepath.Clean(a.data), p.PID)
		}
		c.URI = "s3://" + dev.Bucket
		c.options = store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey}
	}
	if c.Temporal != nil || p.Temporal == "" {
		if w.Temporal && c.Temporal == nil {
			return rl.Errorf(rl.Conflict, "data directory", "%s is held by process %d, which does not run Temporal; try again when it has ended", filepath.Clean(a.data), p.PID)
		}
		return nil
	}
	return c.dial(a, client.Options{HostPort: p.Temporal, Namespace: dev.Namespace})
}
