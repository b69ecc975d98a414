package activities

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// A run goes on with the files that it began with, and with no others.
func TestWorldIsPinned(t *testing.T) {
	files := "11112222333344445555"
	envs.RegisterKind(envs.Kind{Name: "filed", Open: func(rl.EnvConfig) (envs.World, error) {
		return envs.World{Name: "filed", Digest: files}, nil
	}})
	b := open(t, "a")
	at := func(other int) error { // another configuration is opened anew
		_, err := b.world(t.Context(), b.store, run, rl.EnvConfig{Use: "filed", Code: rl.CodeConfig{Files: other}})
		return err
	}
	if err := at(1); err != nil {
		t.Fatal(err)
	}
	if err := at(2); err != nil {
		t.Fatal(err)
	}
	files = "99998888777766665555"
	err := at(3)
	if rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), "env.filed: the files here are not those that the run began with (SHA-256 999988887777, then 111122223333)") {
		t.Error(err)
	}
	cfg := rl.Config{Env: rl.EnvConfig{Use: "filed", MaxTurns: 4}}
	if _, _, err := b.warmUp(t.Context(), b.store, cfg, rl.UpdateSpec{Run: run}); rl.KindOf(err) != rl.Conflict {
		t.Errorf("a warm-up: %v", err)
	}
}
