package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// An update's configuration is that of the last change that was in effect for it; the run's is that of the last of all.
func changedConfigs(t *testing.T, s *store.Store) {
	_, _, err := s.Config(t.Context(), "a")
	is(t, err, rl.NotFound)
	cfg := must[rl.Config](t)(config.Default("orders"))
	cfg.Update.Minibatches = 8
	_, _, err = store.PutJSON(t.Context(), s, store.ConfigKey("a"), cfg)
	is(t, err, "")
	for i, c := range []struct {
		update      rl.UpdateNumber
		minibatches int
	}{{4, 10}, {4, 12}, {7, 24}} {
		cfg.Update.Minibatches = c.minibatches
		ref, _, err := store.PutJSON(t.Context(), s, store.ConfigVersionKey("a", store.SHA256(rl.CanonicalJSON(cfg))), cfg)
		is(t, err, "")
		at := time.Unix(int64(i), 0)
		_, _, err = store.PutJSON(t.Context(), s, store.ChangeKey("a", at), rl.Change{Schema: rl.ChangeSchema, Time: at, Update: c.update, Config: ref})
		is(t, err, "")
	}
	for n, want := range map[rl.UpdateNumber]int{1: 8, 3: 8, 4: 12, 6: 12, 7: 24, math.MaxInt: 24} {
		ref, found, err := s.ConfigOf(t.Context(), "a", n)
		if err != nil || found.Update.Minibatches != want || (ref.Key == store.ConfigKey("a")) != (want == 8) {
			t.Errorf("update %d: %d minibatches in %v (%v), want %d", n, found.Update.Minibatches, ref, err, want)
		}
	}
	if _, now, err := s.Config(t.Context(), "a"); err != nil || now.Update.Minibatches != 24 {
		t.Errorf("the run's: %d minibatches (%v)", now.Update.Minibatches, err)
	}
}

// What a policy's configuration leaves out is not made up from the embedded policy's.
func servedConfig(t *testing.T, s *store.Store) {
	cfg := must[rl.Config](t)(config.Default("orders"))
	cfg.Policy = rl.PolicyConfig{Use: "openai", URL: "http://h/v1", Model: "m"}
	ref, _, err := store.PutJSON(t.Context(), s, store.ConfigKey("a"), cfg)
	is(t, err, "")
	got, err := s.ConfigAt(t.Context(), ref)
	is(t, err, "")
	if got.Policy != cfg.Policy {
		t.Errorf("%+v reads back as %+v", cfg.Policy, got.Policy)
	}
}
