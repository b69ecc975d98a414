package dev

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// clusterID is any fixed UUID; the server keeps it in the database.
const clusterID = "8f1c0c2e-5a0b-4f0e-9a57-0a3d6b1f7e11"

// settings are the server's dynamic settings that differ from its defaults, which suit a shared cluster.
func settings() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// One process, one fleet of workers: a second partition of a task queue only adds hops.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// With one shard, the default of 20 polls of its queue a second adds up to 50 ms to every activity.
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   1000,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      1000,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 1000,
		// Timers are read this far ahead, and a new one that is due sooner waits so long. The default second, meant
		// for clocks that disagree, made every short retry last half a second more.
		dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,
		// 512 each by default, for a host with thousands of shards: 3,000 goroutines.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():   64,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():      64,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key(): 32,
		// A client that waits for a workflow and misses its end asks again after this time, not after 20 s.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,
		// Nobody else is here to be protected from: 1,024 episodes may all report in one second.
		dynamicconfig.FrontendRPS.Key():                                  100_000,
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():           100_000,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 1_000,
		dynamicconfig.HistoryRPS.Key():                                   100_000,
		dynamicconfig.MatchingRPS.Key():                                  100_000,
		dynamicconfig.FrontendPersistenceMaxQPS.Key():                    100_000,
		dynamicconfig.HistoryPersistenceMaxQPS.Key():                     100_000,
		dynamicconfig.MatchingPersistenceMaxQPS.Key():                    100_000,
		// The new matcher's limit of tasks a second is a moment of the wall clock: when the clock is set back it hands out nothing
		// until the clock is there again.
		dynamicconfig.MatchingUseNewMatcher.Key(): false,
		// No call out to the internet.
		dynamicconfig.EnableServerVersionCheck.Key(): false,
	}
}

// startTemporal runs the four Temporal services on the directory's database.
func (d *Dev) startTemporal() error {
	db, err := openDatabase(d.dir)
	if err != nil {
		return err
	}
	l, err := d.ports.listen("temporal")
	if err != nil {
		return err
	}
	port := portOf(l)
	cfg, hosts, err := serverConfig(port, db)
	if err := errors.Join(err, l.Close()); err != nil { // the server binds it itself
		return err
	}
	file, err := openLog(d.dir)
	if err != nil {
		return err
	}
	log := newServerLog(file, d.die)
	srv, err := runServer(cfg, hosts, log)
	if err != nil {
		log.out.Error("the server did not start", "error", err)
		return errors.Join(fmt.Errorf("the Temporal server (more in %s): %w", at(d.dir, logFile), cause(err)), file.Close())
	}
	d.process.Temporal = addr(port)
	d.stops = append(d.stops, func() error {
		log.mute()
		return errors.Join(srv.Stop(), file.Close())
	})
	return nil
}

// cause is the innermost error: around it the server tells at length which of its parts needed which.
func cause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// die ends the process because the server cannot go on. State is safe; the next start goes on from it.
func (d *Dev) die(why string) {
	d.log.Error("the embedded Temporal server failed; start again to go on", "why", why, "log", at(d.dir, logFile))
	os.Exit(1)
}

// runServer returns once all services answer. The server means to end the process at some faults of its start, a
// port that is taken say: here they become errors.
func runServer(cfg *config.Config, hosts map[primitives.ServiceName]static.Hosts, log serverLog) (srv temporal.Server, err error) {
	defer func() {
		if why := recover(); why != nil {
			fault, ok := why.(startFailure)
			if !ok {
				panic(why)
			}
			err = errors.New(string(fault))
		}
	}()
	authorizer, err := authorization.GetAuthorizerFromConfig(&cfg.Global.Authorization)
	if err != nil {
		return nil, err
	}
	srv, err = temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts), // no gossip
		temporal.WithLogger(log),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(settings()),
	)
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		log.mute()
		return nil, errors.Join(err, srv.Stop())
	}
	log.fatal.up.Store(true)
	return srv, nil
}

// serverConfig describes one host with one shard on loopback, without archival, authentication or metrics.
func serverConfig(frontend int, db *config.SQL) (*config.Config, map[primitives.ServiceName]static.Hosts, error) {
	c := &config.Config{Services: map[string]config.Service{}}
	hosts := map[primitives.ServiceName]static.Hosts{}
	services := []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService}
	ports, err := freePorts(len(services))
	if err != nil {
		return nil, nil, err
	}
	for i, name := range services {
		rpc := config.RPC{GRPCPort: frontend, BindOnIP: loopback}
		port := &rpc.GRPCPort
		if name == primitives.FrontendService {
			port = &rpc.HTTPPort // its HTTP API; without one the server warns
		}
		*port = ports[i]
		c.Services[string(name)] = config.Service{RPC: rpc}
		hosts[name] = static.SingleLocalHost(addr(rpc.GRPCPort))
	}
	c.Global.Membership.BroadcastAddress = loopback
	c.Persistence = config.Persistence{
		DefaultStore: "sqlite", VisibilityStore: "sqlite", NumHistoryShards: 1,
		DataStores: map[string]config.DataStore{"sqlite": {SQL: db}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
			Enabled: true, InitialFailoverVersion: 1, RPCAddress: addr(frontend), ClusterID: clusterID,
		}},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	const off = "disabled"
	c.Archival.History.State, c.Archival.Visibility.State = off, off
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = off, off
	c.PublicClient.HostPort = addr(frontend)
	return c, hosts, nil
}
