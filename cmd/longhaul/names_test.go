package main

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// config, which knows nothing of the embedded policy's code, refuses exactly the shapes that this refuses.
func TestConfigRefusesTheShapesThatTinyRefuses(t *testing.T) {
	refused := 0
	for _, width := range []int{32, 96, 1024, 2048, 4064, 4096} {
		for _, layers := range []int{1, 2, 15, 16, 17, 21, 64} {
			for _, hidden := range []int{32, 4096, 16160, 16192, 16384} {
				cfg, err := config.Default("orders")
				if err != nil {
					t.Fatal(err)
				}
				cfg.Policy.Width, cfg.Policy.Layers, cfg.Policy.Hidden = width, layers, hidden
				err = config.Check(cfg, registered())
				shape := nn.Config{V: tiny.Vocab, D: width, L: layers, F: hidden, Ctx: cfg.Policy.Context}
				if want := shape.Check(); (err == nil) != (want == nil) {
					t.Errorf("width %d, layers %d, hidden %d: config says %v, tiny/nn %v", width, layers, hidden, err, want)
				}
				if err != nil && !strings.Contains(err.Error(), "policy.width: found a policy of") {
					t.Errorf("width %d, layers %d, hidden %d: %v", width, layers, hidden, err)
				}
				if err != nil {
					refused++
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no shape was refused")
	}
}

// What `longhaul init` writes is right for each environment.
func TestEveryEnvironmentHasARecipe(t *testing.T) {
	for _, env := range registered().Envs {
		cfg, err := config.Start(env)
		if err == nil {
			err = config.Check(cfg, registered())
		}
		if err != nil {
			t.Errorf("%s: %v", env, err)
		}
	}
}
