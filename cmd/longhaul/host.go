package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// host is a connection with, where this process is the one to do the work, its workers.
type host struct {
	*conn
	work   *workers.Workers // nil: others work
	policy *http.Server     // of the embedded policy, for others on this machine
	tiny   interface{ Close() }
}

// host makes this process the home of runs: it starts the embedded parts that nothing outside replaces, fails what a
// killed predecessor had under way, and works on all queues. When another process holds the data directory, that one
// works and this one follows. With leave it also leaves the work to others where Temporal is outside.
func (a *app) host(ctx context.Context, w want, leave bool) (h *host, err error) {
	w.Temporal, w.UI = true, true
	if w.Make && (!a.externalTemporal() || a.storeURI(w) == "") {
		if err := os.MkdirAll(a.data, 0o700); err != nil {
			return nil, rl.Errorf(rl.Refused, "data directory", "%s cannot be made (%w): mend that, or name another with --data", a.data, err)
		}
	}
	c, err := a.connect(ctx, w)
	if err != nil {
		return nil, err
	}
	h = &host{conn: c}
	if c.Holder != nil || leave && a.externalTemporal() {
		return h, nil
	}
	started := h
	defer func() {
		if err != nil {
			started.Close()
		}
	}()
	if c.parts != nil && c.parts.Process().Temporal != "" {
		if err := failOrphans(ctx, c); err != nil {
			return nil, err
		}
	}
	acts, err := h.start(ctx, a, workers.Queues)
	if err != nil {
		return nil, err
	}
	return h, h.servePolicy(ctx, acts)
}

// external is a worker on the Temporal that the environment names.
func (a *app) external(ctx context.Context, queues []string) (h *host, err error) {
	if !a.externalTemporal() {
		return nil, errNotExternal
	}
	h = &host{conn: &conn{options: store.Options{Log: a.log}}}
	if err := h.dialOutside(a); err != nil {
		return nil, err
	}
	if err := h.reachTemporal(ctx, a); err != nil {
		h.Close()
		return nil, err
	}
	if _, err := h.start(ctx, a, queues); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// start starts the workers.
func (h *host) start(ctx context.Context, a *app, queues []string) (*activities.Activities, error) {
	threads, err := a.threads()
	if err != nil {
		return nil, err
	}
	if a.getenv("GOGC") == "" && a.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit())
	}
	if _, err := kernel(); err != nil {
		return nil, err
	}
	if err := workers.Prepare(ctx, h.Temporal, h.Namespace); err != nil {
		return nil, err
	}
	acts := &activities.Activities{OpenStore: h.openChecked, OpenBase: h.OpenBase, Threads: threads, Getenv: a.getenv, Jobs: h.jobs(a), Log: a.log}
	h.work, err = workers.Start(workers.Options{Client: h.Temporal, Activities: acts, Queues: queues})
	return acts, err
}

// openChecked opens a store and proves that it keeps what exactly-once rests on.
func (h *host) openChecked(ctx context.Context, uri string) (*store.Store, error) {
	s, err := h.OpenStore(ctx, uri)
	if err != nil {
		return nil, err
	}
	return s, s.Check(ctx)
}

// jobs is what update jobs on this machine need: a place, and the embedded store's keys where that is the store.
func (h *host) jobs(a *app) launch.Host {
	where := launch.Host{Dir: filepath.Join(a.data, "jobs")}
	if h.options.Endpoint != "" {
		where.Secret = map[string]string{"AWS_ACCESS_KEY_ID": h.options.AccessKey, "AWS_SECRET_ACCESS_KEY": h.options.SecretKey}
	}
	return where
}

// maxThreads is more than any machine has cores: each thread has buffers of its own.
const maxThreads = 1024

// threads of the embedded policy and trainer: LONGHAUL_THREADS, else the machine's. Results do not depend on it.
func (a *app) threads() (int, error) {
	v := a.getenv("LONGHAUL_THREADS")
	if v == "" {
		return runtime.GOMAXPROCS(0), nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxThreads {
		return 0, rl.Errorf(rl.Invalid, "LONGHAUL_THREADS", "%q is not a number of threads from 1 to %d", v, maxThreads)
	}
	return n, nil
}

// failOrphans ends what a killed predecessor had started, so that it is done again now and not after its heartbeat is
// missed.
func failOrphans(ctx context.Context, c *conn) error {
	runs, err := c.Store.Runs(ctx)
	if err != nil {
		return err
	}
	var roots []string
	for _, r := range runs {
		roots = append(roots, workflows.TrainID(r))
	}
	open, err := c.Temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType IN ('Evaluate', 'Scheduled', 'Replay') AND ExecutionStatus = 'Running'"})
	if err != nil {
		return fmt.Errorf("listing open evaluations, replays and schedules' starts: %w", err)
	}
	for _, e := range open.Executions {
		roots = append(roots, e.Execution.WorkflowId)
	}
	_, err = c.parts.FailOrphans(ctx, c.Temporal, roots...)
	return err
}

// servePolicy lets others on this machine ask the embedded policy.
func (h *host) servePolicy(ctx context.Context, acts *activities.Activities) error {
	server, err := acts.EmbeddedPolicy(ctx, h.URI)
	if err != nil || h.parts == nil {
		return err
	}
	h.tiny = server
	l, err := h.parts.Listen("policy")
	if err != nil {
		return err
	}
	h.policy = &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go h.policy.Serve(l)
	return h.parts.Announce("http://"+l.Addr().String()+"/v1", "")
}

// Close stops taking work, lets running activities end or be cut off, and stops the parts. What was cut off is done
// again by the next process.
func (h *host) Close() error {
	if h.work != nil {
		h.work.Stop()
	}
	if h.policy != nil {
		h.policy.Close()
	}
	if h.tiny != nil {
		h.tiny.Close()
	}
	return h.conn.Close()
}

// failed tells of a worker of this process that ended by itself; nil, which never tells, where others work.
func (h *host) failed() <-chan error {
	if h.work == nil {
		return nil
	}
	return h.work.Failed()
}

// untilStopped works until an interrupt, of which it tells, or until a worker ends by itself.
func (h *host) untilStopped(ctx context.Context, tell func()) error {
	select {
	case err := <-h.failed():
		return err
	case <-ctx.Done():
		tell()
		return ctx.Err()
	}
}

// process is where the parts answer: this process's or the holder's.
func (c *conn) process() dev.Process {
	switch {
	case c.parts != nil:
		return c.parts.Process()
	case c.Holder != nil:
		return *c.Holder
	}
	return dev.Process{}
}

// workless says when nobody works on the control queue of a Temporal outside.
func (h *host) workless(ctx context.Context) bool {
	d, err := h.Temporal.DescribeTaskQueue(ctx, workflows.ControlQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	return err == nil && len(d.GetPollers()) == 0
}
