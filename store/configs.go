package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
)

// ConfigVersionKey is a configuration that a run may be changed to, or that a baseline is played with, by the sha256 of its JSON.
func ConfigVersionKey(run rl.RunID, sum string) string {
	return RunPrefix(run) + "configs/" + sum + ".json"
}

// PutConfig records a configuration under its ConfigVersionKey. Errors as PutNew.
func (s *Store) PutConfig(ctx context.Context, cfg rl.Config) (rl.Ref, error) {
	body := rl.CanonicalJSON(cfg)
	return s.PutNew(ctx, ConfigVersionKey(cfg.Name, SHA256(body)), body)
}

// ChangePrefix is where the changes of a run's configuration are recorded, in the order of their keys.
func ChangePrefix(run rl.RunID) string { return RunPrefix(run) + "changes/" }

// ChangeKey is a change that took effect at a time.
func ChangeKey(run rl.RunID, at time.Time) string {
	return fmt.Sprintf("%s%020d.json", ChangePrefix(run), at.UnixNano())
}

// Changes are those of a run's configuration that have taken effect, oldest first. Errors as FindJSON.
func (s *Store) Changes(ctx context.Context, run rl.RunID) (all []rl.Change, err error) {
	names, err := s.Names(ctx, ChangePrefix(run))
	if err != nil {
		return nil, err
	}
	all = make([]rl.Change, 0, len(names))
	for _, name := range names {
		_, c, err := FindJSON[rl.Change](ctx, s, ChangePrefix(run)+name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Config is a run's configuration as it stands: the one it was started with, or the one of its last change. Errors as FindJSON:
// NotFound when there is no such run.
func (s *Store) Config(ctx context.Context, run rl.RunID) (ref rl.Ref, cfg rl.Config, err error) {
	return s.ConfigOf(ctx, run, math.MaxInt)
}

// ConfigOf is the configuration that update n of a run is made with: the one of the last change that was in effect for it. Of an
// update that was changed in its midst that is what it was finished with; its stages that were done by then stand. Errors as Config.
func (s *Store) ConfigOf(ctx context.Context, run rl.RunID, n rl.UpdateNumber) (ref rl.Ref, cfg rl.Config, err error) {
	ref, body, err := s.Find(ctx, ConfigKey(run))
	if err != nil {
		return ref, cfg, err
	}
	names, err := s.Names(ctx, ChangePrefix(run))
	if err != nil {
		return ref, cfg, err
	}
	for _, name := range slices.Backward(names) {
		_, c, err := FindJSON[rl.Change](ctx, s, ChangePrefix(run)+name)
		if err != nil {
			return ref, cfg, err
		}
		if c.Update <= n {
			cfg, err = s.ConfigAt(ctx, c.Config)
			return c.Config, cfg, err
		}
	}
	cfg, err = decodeConfig(ref.Key, body)
	return ref, cfg, err
}

// ConfigAt is the configuration that ref refers to. An option that it lacks is newer than the run: it has its default, so that a
// run of an older version can go on. Errors as GetJSON.
func (s *Store) ConfigAt(ctx context.Context, ref rl.Ref) (rl.Config, error) {
	body, err := s.GetRef(ctx, ref)
	if err != nil {
		return rl.Config{}, err
	}
	return decodeConfig(ref.Key, body)
}

func decodeConfig(key string, body []byte) (cfg rl.Config, err error) {
	world, err := decode[struct {
		Env struct {
			Use string `json:"use"`
		} `json:"env"`
		Policy struct {
			Use string `json:"use"`
		} `json:"policy"`
	}](key, body)
	if err == nil {
		cfg, err = config.Default(world.Env.Use)
	}
	if world.Policy.Use != cfg.Policy.Use { // the default's shape is no other policy's
		cfg.Policy = rl.PolicyConfig{}
	}
	if err == nil {
		p := &cfg.Policy
		p.Width, p.Layers, p.Hidden, p.Context = 0, 0, 0, 0 // sizes that are left out are none: the policy is a server's
		err = json.Unmarshal(body, &cfg)
	}
	if err != nil {
		return cfg, rl.Errorf(rl.Corrupt, at(key), "it is not the configuration of a run: %w", err)
	}
	return cfg, nil
}
