package main

import (
	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/advantage"
	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/envs"
	_ "github.com/longhaul-rl/longhaul/envs/code"
	_ "github.com/longhaul-rl/longhaul/envs/mcp"
	_ "github.com/longhaul-rl/longhaul/envs/openenv"
	_ "github.com/longhaul-rl/longhaul/envs/process"
	"github.com/longhaul-rl/longhaul/reward"
)

// registered are the names that run.yaml may use in this binary.
func registered() config.Names {
	return config.Names{
		Envs:       envs.Names(),
		Rewards:    reward.Names(),
		Advantages: advantage.Names(),
		Losses:     activities.Losses(),
		Policies:   []string{"tiny", "openai", "tinker"},
		Launchers:  activities.Trainers(),
	}
}
