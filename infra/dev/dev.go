package dev

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/longhaul-rl/longhaul/infra/dev/s3"
)

// Names of what Start makes ready.
const (
	Namespace = "default"  // Temporal namespace
	Bucket    = "longhaul" // S3 bucket; it comes into being at its first write
)

// Options says which parts to start and where they keep their state.
type Options struct {
	// Dir holds all state; it is made when absent.
	Dir string
	// Temporal, S3 and UI (Temporal's web pages, only with Temporal) choose the parts.
	Temporal, S3, UI bool
	// Log hears of the few things its owner should know: a part that stopped by itself. Nil is silent.
	Log *slog.Logger
}

// Dev is the running set of parts. Its directory is locked until Stop.
type Dev struct {
	dir     string
	lock    *flock.Flock
	ports   *ports
	process Process
	store   *s3.Server
	log     *slog.Logger
	stops   []func() error // in the order of starting
}

// Start takes the directory's lock, starts the parts asked for and writes process.json. When a part fails,
// the ones before it are stopped and its error is returned.
//
// Errors: Conflict when another process holds the directory (the message names it) or when the database
// was written by another server version, or nobody knows by which.
func Start(ctx context.Context, o Options) (_ *Dev, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(dir, err)
	}
	started := time.Now()
	held, err := hold(ctx, dir, started)
	if err != nil {
		return nil, err
	}
	d := &Dev{dir: dir, lock: held, log: o.Log, process: Process{PID: os.Getpid(), Started: started}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Stop())
		}
	}()
	if err := errors.Join(forget(dir), sweep(dir)); err != nil { // a dead holder's endpoints and leftovers
		return nil, err
	}
	if d.ports, err = openPorts(dir, d.log); err != nil {
		return nil, err
	}
	if o.S3 {
		if err := d.startS3(); err != nil {
			return nil, err
		}
	}
	if o.Temporal {
		if err := d.startTemporal(); err != nil {
			return nil, err
		}
	}
	d.watchClock(started)
	if o.Temporal && o.UI {
		if err := d.startUI(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d, d.process.write(dir)
}

// Stop stops the parts, the last started first, and gives the directory up. Workers and clients of these
// parts should be stopped before. It may be called more than once.
func (d *Dev) Stop() error {
	if d.lock == nil {
		return nil
	}
	errs := []error{forget(d.dir)}
	for i := len(d.stops) - 1; i >= 0; i-- {
		errs = append(errs, d.stops[i]())
	}
	errs = append(errs, d.lock.Unlock())
	d.stops, d.lock = nil, nil
	return errors.Join(errs...)
}

// Process is what other processes can read about this one.
func (d *Dev) Process() Process { return d.process }

// Announce adds the URLs of the policy server and the dashboard ("" = none) to what Attach returns.
func (d *Dev) Announce(policy, dashboard string) error {
	d.process.Policy, d.process.Dashboard = policy, dashboard
	return d.process.write(d.dir)
}

// Listen opens a loopback listener for a part of the caller's own. The same name gets the same port as
// last time in this directory, when that port is free.
func (d *Dev) Listen(name string) (net.Listener, error) {
	return d.ports.listen(name)
}

// at names the file or part of the directory that an error is about.
func at(dir, name string) string { return filepath.Join(dir, name) }
