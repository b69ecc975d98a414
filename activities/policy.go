package activities

import (
	"context"
	"net/http"

	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// Live episodes at once, when run.yaml does not say. The embedded policy samples 16 sequences a thread at a time, where
// their caches still fit the processor's; four times as many episodes keep it busy while others talk to their worlds.
const (
	tinyConcurrencyPerThread = 64
	openaiConcurrency        = 256
)

// policy is the client of a run's policy servers; the embedded one answers in this process.
func (a *Activities) policy(ctx context.Context, s Stage, st *store.Store, cfg rl.Config) (*policy.Client, error) {
	return cached(ctx, a, &a.policies, s.policyKey(), func() (*policy.Client, error) {
		if cfg.Policy.Use == "tiny" {
			return a.tinyClient(a.embeddedPolicy(s.Store, st), cfg), nil
		}
		if cfg.Policy.Use == tinkered {
			return a.tinkerPolicy(ctx, st, cfg)
		}
		o := policy.Options{URL: cfg.Policy.URL, Concurrency: cfg.Policy.Concurrency, Log: a.log()}
		if o.Concurrency == 0 {
			o.Concurrency = openaiConcurrency
		}
		var err error
		if o.APIKey, err = a.key("policy.api_key_env", cfg.Policy.APIKeyEnv); err != nil {
			return nil, err
		}
		var client *policy.Client
		if publishes(cfg) {
			o.Missing = func(ctx context.Context, url, model string) error {
				return publisher{a, st, cfg, client}.again(ctx, url, model)
			}
		}
		client = policy.New(o)
		return client, nil
	})
}

func (s Stage) policyKey() string { return s.Store + " " + s.Config.SHA256 }

// ready makes a version answer. Damaged weights of the embedded policy are Corrupt here, so that the run goes back to
// an older checkpoint; a rollout would only see a server that fails.
func (a *Activities) ready(ctx context.Context, s Stage, st *store.Store, cfg rl.Config, v rl.Version) error {
	if cfg.Policy.Use == "tiny" {
		server, err := a.EmbeddedPolicy(ctx, s.Store)
		if err != nil {
			return err
		}
		return server.Load(ctx, v)
	}
	client, err := a.policy(ctx, s, st, cfg)
	if err != nil {
		return err
	}
	return publisher{a, st, cfg, client}.publish(ctx, v)
}

// playing is the client for rollouts with a version, which the embedded policy has loaded by then, and what its servers
// call the version.
func (a *Activities) playing(ctx context.Context, s Stage, st *store.Store, cfg rl.Config, v rl.Version) (*policy.Client, string, error) {
	if cfg.Policy.Use == "tiny" {
		if err := a.ready(ctx, s, st, cfg, v); err != nil {
			return nil, "", err
		}
	}
	client, err := a.policy(ctx, s, st, cfg)
	if err != nil {
		return nil, "", err
	}
	name, err := a.served(ctx, st, cfg, v)
	return client, name, err
}

func (a *Activities) tinyClient(h http.Handler, cfg rl.Config) *policy.Client {
	n := cfg.Policy.Concurrency
	if n == 0 {
		n = tinyConcurrencyPerThread * a.threads()
	}
	return policy.New(policy.Options{URL: "http://tiny/v1", Transport: inprocess.Transport{Handler: h}, Splice: true, Concurrency: n})
}

// EmbeddedPolicy is the chat server of the versions in a store, for others to listen with.
func (a *Activities) EmbeddedPolicy(ctx context.Context, uri string) (*tiny.Server, error) {
	st, err := a.store(ctx, uri)
	if err != nil {
		return nil, err
	}
	return a.embeddedPolicy(uri, st), nil
}

// embeddedPolicy is a store's server. Versions are loaded from the store when first asked for, so a process that was
// just started serves every version there is.
func (a *Activities) embeddedPolicy(uri string, st *store.Store) *tiny.Server {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.embedded[uri]; ok {
		return s
	}
	s := tiny.NewServer(func(ctx context.Context, v rl.Version) (*nn.Model, error) {
		return loadModel(ctx, st, v)
	}, a.threads())
	if a.embedded == nil {
		a.embedded = map[string]*tiny.Server{}
	}
	a.embedded[uri] = s
	return s
}

// loadModel reads a version's weights, every byte of them verified.
func loadModel(ctx context.Context, st *store.Store, v rl.Version) (*nn.Model, error) {
	run, n, err := v.Parse()
	if err != nil {
		return nil, err
	}
	_, ckpt, err := st.FindCheckpoint(ctx, run, n)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(ctx, st, ckpt, tiny.ModelFiles)
	if err != nil {
		return nil, err
	}
	return tiny.DecodeModel(files)
}

// readFiles reads the named files of a checkpoint; without names, all of them.
func readFiles(ctx context.Context, st *store.Store, c rl.Checkpoint, names []string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range names {
		f, ok := c.File(name)
		if !ok {
			return nil, rl.Errorf(rl.Corrupt, "store "+store.CheckpointKey(c.Run, c.Update), "the checkpoint has no %s", name)
		}
		b, err := st.ReadFile(ctx, f)
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	return files, nil
}

func (a *Activities) threads() int { return max(1, a.Threads) }
