package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	"github.com/longhaul-rl/longhaul/workflows"
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
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); l, err = net.Listen("tcp", s.address) {
		time.Sleep(100 * time.Millisecond) // while the server was away a client's connection may have taken its port
	}
	if err != nil {
		t.Fatal(err)
	}
	s.address, s.server = l.Addr().String(), &http.Server{Handler: s.handler}
	go s.server.Serve(l)
}

// newServed starts the parts; addresses are those of the policy servers, or empty for any.
func newServed(t *testing.T, addresses [3]string) *served {
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
	s.serve(open, addresses)
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

// serve starts the policy servers.
func (s *served) serve(open func(context.Context, string) (*store.Store, error), addresses [3]string) {
	for i := range s.servers {
		embedded, err := (&activities.Activities{OpenStore: open, Threads: 1}).EmbeddedPolicy(s.Context(), "s3://"+dev.Bucket)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(embedded.Close)
		one := &policyServer{address: cmp.Or(addresses[i], "127.0.0.1:0")}
		one.handler = faults.Of(
			faults.On("", "", faults.While(one.hangs.Load), faults.Hang),
			faults.On("POST", "", faults.While(one.slow.Load), faults.Slow(500*time.Millisecond)),
		).Handler(embedded)
		one.start(s.T)
		s.Cleanup(func() { one.server.Close() })
		s.servers[i] = one
	}
}

// launch starts a short run, of the embedded policy when from is empty, else of the servers', from that checkpoint.
func (s *served) launch(name rl.RunID, from string, changes ...func(*rl.Config)) client.WorkflowRun {
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
		for _, change := range changes {
			change(&cfg)
		}
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

// away is how long all policy servers are out. `make crash` asks for a minute by LONGHAUL_OUTAGE.
func away(t *testing.T) time.Duration {
	s := os.Getenv("LONGHAUL_OUTAGE")
	if s == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("LONGHAUL_OUTAGE: %v", err)
	}
	return d
}

// A run on three servers, of which one hangs, one dies and comes back, and then all are away for a while: `status` tells of
// each and says all the while what the run waits for, no episode is lost or played otherwise, nobody is scored 0 for it, and
// the run ends with what an undisturbed one leaves, byte for byte.
func TestARunOutlivesItsPolicyServers(t *testing.T) {
	var addresses [3]string // are in the configuration, and so the same for both
	ends := map[string]remains{}
	for name, disturb := range map[string]func(*served){"calm": nil, "rough": (*served).disturb} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t, addresses)
			for i, one := range s.servers {
				addresses[i] = one.address
			}
			if err := s.launch("base", "").Get(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if disturb != nil {
				for _, one := range s.servers {
					one.slow.Store(true)
				}
			}
			run := s.launch("run", "base@000000")
			if disturb != nil {
				disturb(s)
			}
			var out workflows.TrainOut
			if err := run.Get(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			unfailed(t, s.client)
			if s.weights("run", 4) == s.weights("run", 0) {
				t.Error("it learnt nothing")
			}
			for n := rl.UpdateNumber(1); n <= 4; n++ {
				_, ledger, err := store.FindJSON[rl.Ledger](t.Context(), s.store, store.LedgerKey("run", n))
				if err != nil || !ledger.Balanced || ledger.LeftOut[rl.PolicyFailed]+ledger.LeftOut[rl.Stale]+ledger.LeftOut[rl.NoLogProbs] != 0 {
					t.Errorf("update %d: left out %v, balanced %v, %v", n, ledger.LeftOut, ledger.Balanced, err)
				}
			}
			ends[name] = remainsOf(t, s.store, "run", doneCheckpoint{rl.VersionOf("run", 4), out.Checkpoint.SHA256})
			t.Log(ends[name])
		})
	}
	if ends["calm"] != ends["rough"] {
		t.Errorf("the run ends with\n%v, undisturbed with\n%v", ends["rough"], ends["calm"])
	}
}

// disturb breaks the servers of a run one after the other, and mends them.
func (s *served) disturb() {
	states := func(r runStatus) (all []string) {
		for _, one := range r.Servers {
			all = append(all, one.State)
		}
		return all
	}
	waits := func(r runStatus) bool {
		return r.WaitingFor != nil && r.WaitingFor.What == "RunTrajectory" && strings.HasPrefix(r.WaitingFor.Why, "policy http://127.0.0.1:")
	}
	s.until("run", "episodes of update 1 are played", func(r runStatus) bool { return r.Update == 1 && r.Stage == "Collect" })
	s.servers[0].hangs.Store(true)
	s.servers[1].server.Close()
	s.until("run", "two servers are ejected", func(r runStatus) bool { return slices.Equal(states(r), []string{"ejected", "ejected", "healthy"}) })
	s.servers[2].hangs.Store(true) // the last one: now it is an outage
	s.until("run", "the run waits, and all of its servers are known to be away", func(r runStatus) bool { return waits(r) && nobodyServes(r.Servers) })
	for until := time.Now().Add(away(s.T)); time.Now().Before(until); time.Sleep(time.Second) {
		r, err := observer{client: s.client, store: s.store, run: "run", scheduled: map[string]time.Time{}}.status(s.Context())
		if err != nil || !waits(r) || r.State != workflows.Running {
			s.Errorf("in the outage the status is %+v, waiting for %+v, %v", r, r.WaitingFor, err)
			continue
		}
		s.Logf("update %d waits for %s since %s (%.0f s): %s", r.Update, r.WaitingFor.What, r.WaitingFor.Since.Format(time.TimeOnly), time.Since(r.WaitingFor.Since).Seconds(), r.WaitingFor.Why)
	}
	s.servers[1].start(s.T)
	s.servers[0].hangs.Store(false)
	s.servers[2].hangs.Store(false)
	for _, one := range s.servers {
		one.slow.Store(false)
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
