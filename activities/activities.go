// Package activities holds the stages of the line, one method each on one flat struct:
//
//	SampleGroup -> RunTrajectory -> JudgeGroup -> ComputeAdvantages -> UpdatePolicy -> Checkpoint -> Publish
//
// and beside the line Restore (which checkpoint to go on from), Promote and ScoreEvaluation. A stage reads what
// earlier stages stored, writes its own output once under a key that follows from (run, update, task, member),
// and returns a reference and a few numbers: bytes never enter workflow history. A stage that is run twice
// finds what is recorded and returns that.
//
// Read rollout.go and episode.go for the heart of it; workflows/ decides what runs when.
package activities

import (
	"context"
	"log/slog"
	"sync"

	"github.com/longhaul-rl/longhaul/gateway"
	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny"
)

// Activities is what the stages need of their process. The zero value of every field but OpenStore is usable.
type Activities struct {
	// OpenStore connects to a store by its URI, with this process's own credentials.
	OpenStore func(ctx context.Context, uri string) (*store.Store, error)
	// OpenBase connects to where a policy.base lies, of which it is only read. Nil: as OpenStore.
	OpenBase func(ctx context.Context, uri string) (*store.Store, error)
	// Threads bounds the embedded policy and trainer. Results do not depend on it.
	Threads int
	// Getenv finds API keys by the names that run.yaml gives. Nil: no key is set.
	Getenv func(string) string
	// Jobs is what launchers of update jobs need of this process.
	Jobs launch.Host
	Log  *slog.Logger

	mu       sync.Mutex
	stores   map[string]*making[*store.Store]
	configs  map[string]*making[rl.Config]      // by sha256
	tasks    map[string]*making[[]rl.Task]      // by sha256
	policies map[string]*making[*policy.Client] // by store and config
	names    map[string]*making[string]         // what servers call versions, by store, base model and version
	judges   map[string]*making[*reward.Client] // by sha256 of their configuration
	embedded map[string]*tiny.Server            // by store
	services map[string]*making[*tinker.Client] // by address and key's name
	journals []openJournal                      // the one used last is last
	agents   *gateway.Server                    // nil: no agent was played with yet
	recent   recent

	launchers map[string]*making[launch.Launcher] // by sha256 of the configuration
	machine   chan struct{}                       // room for the one update that this machine works on
}

func (a *Activities) log() *slog.Logger {
	if a.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Log
}

// Stage says which update of which run a stage works on, and where its bytes lie.
type Stage struct {
	Run    rl.RunID        `json:"run"`
	Store  string          `json:"store"` // s3://bucket/prefix
	Config rl.Ref          `json:"config"`
	Update rl.UpdateNumber `json:"update"`
	// Evaluation is the key of an evaluation of version Update; empty in training.
	Evaluation string `json:"evaluation,omitempty"`
}

// open gives a stage its store and its run's configuration.
func (a *Activities) open(ctx context.Context, s Stage) (*store.Store, rl.Config, error) {
	st, err := a.store(ctx, s.Store)
	if err != nil {
		return nil, rl.Config{}, err
	}
	cfg, err := cached(ctx, a, &a.configs, s.Config.SHA256, func() (rl.Config, error) {
		return st.ConfigAt(ctx, s.Config)
	})
	return st, cfg, err
}

// Store connects to a store by its URI, once for this process. Errors as OpenStore.
func (a *Activities) Store(ctx context.Context, uri string) (*store.Store, error) {
	return a.store(ctx, uri)
}

func (a *Activities) store(ctx context.Context, uri string) (*store.Store, error) {
	return cached(ctx, a, &a.stores, uri, func() (*store.Store, error) { return a.OpenStore(ctx, uri) })
}

// openTasks gives a stage its store, its run's configuration and the tasks of its update or evaluation.
func (a *Activities) openTasks(ctx context.Context, s Stage, ref rl.Ref) (*store.Store, rl.Config, []rl.Task, error) {
	st, cfg, err := a.open(ctx, s)
	if err != nil {
		return nil, cfg, nil, err
	}
	tasks, err := cached(ctx, a, &a.tasks, ref.SHA256, func() ([]rl.Task, error) {
		return store.GetJSON[[]rl.Task](ctx, st, ref)
	})
	return st, cfg, tasks, err
}

// recorded reads the record under key and reports whether there is one that is whole.
func recorded[V any](ctx context.Context, st *store.Store, key string) (ref rl.Ref, v V, ok bool, err error) {
	ref, v, err = store.FindJSON[V](ctx, st, key)
	if absent(err) {
		return ref, v, false, nil
	}
	return ref, v, err == nil, err
}

// absent says that an object is missing, or damaged, which is no better: the store replaces it at the next write.
func absent(err error) bool {
	kind := rl.KindOf(err)
	return kind == rl.NotFound || kind == rl.Corrupt
}
