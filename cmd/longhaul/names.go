package main

import (
	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// registered are the names that run.yaml may use in this binary.
func registered() config.Names {
	return config.Names{
		Envs:       envs.Names(),
		Rewards:    reward.Names(),
		Advantages: advantage.Names(),
		Losses:     nn.Losses(),
		Policies:   []string{"tiny"},
		Launchers:  []string{"embedded"},
	}
}
