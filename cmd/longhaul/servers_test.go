package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/infra/faults"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/workers"
)

// served is the embedded parts with a worker, and three policy servers that listen on ports of their own and find a run's
// versions in its store.
type served struct {
	*testing.T
	client  client.Client
	store   *store.Store
	servers [3]*policyServer
}

// policyServer can hang, die, and come back.
type policyServer struct {
	handler http.Handler
	address string
	server  *http.Server
	hangs   atomic.Bool
	slow    atomic.Bool
}

func (s *policyServer) start(t *testing.T) {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.address, s.server = l.Addr().String(), &http.Server{Handler: s.handler}
	go s.server.Serve(l)
}

func newServed(t *testing.T) *served {
	d, err := dev.Start(t.Context(), dev.Options{Dir: t.TempDir(), Temporal: true, S3: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	p := d.Process()
	c, err := client.Dial(client.Options{HostPort: p.Temporal, Namespace: dev.Namespace, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	open := func(ctx context.Context, uri string) (*store.Store, error) {
		return store.Open(ctx, uri, store.Options{Endpoint: p.S3, AccessKey: p.AccessKey, SecretKey: p.SecretKey, Transport: d.S3Transport()})
	}
	s := &served{T: t, client: c}
	if s.store, err = open(t.Context(), "s3://"+dev.Bucket); err != nil {
		t.Fatal(err)
	}
	for i := range s.servers {
		embedded, err := (&activities.Activities{OpenStore: open, Threads: 1}).EmbeddedPolicy(t.Context(), "s3://"+dev.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(embedded.Close)
		one := &policyServer{address: "127.0.0.1:0"}
		one.handler = faults.Of(
			faults.On("", "", faults.While(one.hangs.Load), faults.Hang),
			faults.On("POST", "", faults.While(one.slow.Load), faults.Slow(500*time.Millisecond)),
		).Handler(embedded)
		one.start(t)
		t.Cleanup(func() { one.server.Close() })
		s.servers[i] = one
	}
	if err := workers.Prepare(t.Context(), c, dev.Namespace); err != nil {
		t.Fatal(err)
	}
	w, err := workers.Start(workers.Options{Client: c, Activities: &activities.Activities{OpenStore: open, Threads: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return s
}

// launch starts a short run, of the embedded policy when from is empty, else of the servers', from that checkpoint.
func (s *served) launch(name rl.RunID, from string) client.WorkflowRun {
	cfg, err := config.Default("orders")
	if err != nil {
		s.Fatal(err)
	}
	cfg.Name, cfg.From = name, from
	cfg.Policy.Width, cfg.Policy.Layers, cfg.Policy.Hidden = 32, 1, 64
	cfg.WarmUp.Gate, cfg.WarmUp.Extra, cfg.WarmUp.Batch, cfg.WarmUp.LearningRate = .6, 20, 16, 5e-3
	cfg.Group.Size, cfg.Group.PerUpdate, cfg.Group.PerActivity = 8, 8, 3
	cfg.Updates, cfg.Update.Minibatches, cfg.Eval.Every, cfg.Eval.Tasks = 0, 2, 2, 6
	if from != "" {
		cfg.Updates, cfg.WarmUp.Max, cfg.Env.TurnTimeout = 4, 0, rl.Duration(2*time.Second)
		var urls []string
		for _, one := range s.servers {
			urls = append(urls, "http://"+one.address+"/v1")
		}
		cfg.Policy = rl.PolicyConfig{Use: "openai", URL: strings.Join(urls, ","), Model: "m", Publish: "none", ShareGPU: "no"}
		// Recorded beforehand: a launch would refuse to take an embedded policy's checkpoint for a server's.
		if _, _, err := store.PutJSON(s.Context(), s.store, store.ConfigKey(name), cfg); err != nil {
			s.Fatal(err)
		}
	}
	run, err := workers.Launch(s.Context(), s.client, s.store, "s3://"+dev.Bucket, cfg)
	if err != nil {
		s.Fatal(err)
	}
	return run
}

// until looks at the run until what it sees is right.
func (s *served) until(run rl.RunID, what string, right func(runStatus) bool) {
	var last runStatus
	for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(50 * time.Millisecond) {
		var err error
		last, err = observer{client: s.client, store: s.store, run: run, scheduled: map[string]time.Time{}}.status(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		if right(last) {
			return
		}
	}
	s.Fatalf("not seen: %s; the last status is %+v, waiting for %+v", what, last, last.WaitingFor)
}

func (s *served) weights(run rl.RunID, n rl.UpdateNumber) string {
	_, c, err := s.store.FindCheckpoint(s.Context(), run, n)
	if err != nil {
		s.Fatal(err)
	}
	f, _ := c.File(tiny.WeightsFile)
	return f.SHA256
}

// A run on three servers, of which one hangs, one dies and comes back, and then all are away for a while: `status` tells of
// each, no episode is lost or played otherwise, and the run ends with the weights of an undisturbed one.
func TestARunOutlivesItsPolicyServers(t *testing.T) {
	s := newServed(t)
	if err := s.launch("base", "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.launch("calm", "base@000000").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	states := func(r runStatus) (all []string) {
		for _, one := range r.Servers {
			all = append(all, one.State)
		}
		return all
	}
	s.servers[0].hangs.Store(true)
	s.servers[1].server.Close()
	s.servers[2].slow.Store(true)
	rough := s.launch("rough", "base@000000")
	s.until("rough", "two servers are ejected", func(r runStatus) bool { return slices.Equal(states(r), []string{"ejected", "ejected", "healthy"}) })
	s.servers[2].hangs.Store(true) // the last one: now it is an outage
	s.until("rough", "the run waits", func(r runStatus) bool {
		return r.WaitingFor != nil && r.WaitingFor.What == "RunTrajectory" && strings.HasPrefix(r.WaitingFor.Why, "policy http://127.0.0.1:")
	})
	time.Sleep(5 * time.Second)
	s.servers[1].start(t)
	s.servers[0].hangs.Store(false)
	s.servers[2].hangs.Store(false)
	s.servers[2].slow.Store(false)
	if err := rough.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if s.weights("rough", 4) != s.weights("calm", 4) || s.weights("rough", 0) == s.weights("rough", 4) {
		t.Error("the run did not end with the weights of an undisturbed one")
	}
	for n := rl.UpdateNumber(1); n <= 4; n++ {
		_, ledger, err := store.FindJSON[rl.Ledger](t.Context(), s.store, store.LedgerKey("rough", n))
		if err != nil || !ledger.Balanced || ledger.LeftOut[rl.PolicyFailed]+ledger.LeftOut[rl.Stale]+ledger.LeftOut[rl.NoLogProbs] != 0 {
			t.Errorf("update %d: left out %v, balanced %v, %v", n, ledger.LeftOut, ledger.Balanced, err)
		}
	}
}

// The load of a server is that of all workers together, its state the worst that one of them sees; of each worker its
// newest report counts.
func TestServersOfSeveralWorkers(t *testing.T) {
	told, now := reports{}, time.Now()
	tell := func(worker string, at time.Time, states ...string) {
		var all []policy.ServerStatus
		for i, state := range states {
			all = append(all, policy.ServerStatus{URL: "http://" + string(rune('a'+i)), State: state, Why: strings.TrimPrefix(state, "healthy"), InFlight: 2, Limit: 8})
		}
		details, err := converter.GetDefaultDataConverter().ToPayloads(activities.Serving{Servers: all})
		if err != nil {
			t.Fatal(err)
		}
		told.take(&workflowpb.PendingActivityInfo{LastWorkerIdentity: worker, LastHeartbeatTime: timestamppb.New(at), HeartbeatDetails: details})
	}
	tell("one", now, "healthy", "paused")
	tell("one", now.Add(-time.Minute), "ejected", "ejected")
	tell("two", now.Add(-time.Second), "healthy", "ejected")
	told.take(&workflowpb.PendingActivityInfo{LastWorkerIdentity: "two", LastHeartbeatTime: timestamppb.New(now)})
	want := []policy.ServerStatus{{URL: "http://a", State: "healthy", InFlight: 4, Limit: 16}, {URL: "http://b", State: "ejected", Why: "ejected", InFlight: 4, Limit: 16}}
	if got := told.servers(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if row := serverRow(want[1]); row[1] != "http://b ejected, 0 episodes, 4 requests of at most 16: ejected" {
		t.Error(row)
	}
}
