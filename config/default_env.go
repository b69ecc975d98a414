package config

import "github.com/longhaul-rl/longhaul/rl"

// suits makes the recipe one that suits an environment: which tasks there are, and how long an action and an episode are.
var suits = map[string]func(*rl.Config){
	// The prompt is some 600 tokens of the embedded policy, which writes no programs: it is here to be put in another's place.
	"code": func(c *rl.Config) {
		c.Env.MaxTurns, c.Policy.Context, c.Sampling.MaxTokens, c.Group.PerUpdate = 12, 4096, 256, 16
	},
	// An action is JSON, and an observation may be long.
	"openenv": func(c *rl.Config) {
		c.Policy.Context, c.Sampling.MaxTokens, c.Group.PerUpdate = 2048, 64, 16
	},
	"process": func(c *rl.Config) {
		c.Env.Tasks = rl.TasksConfig{Train: rl.TaskRange{First: 0, Last: 999}, Eval: rl.TaskRange{First: 0, Last: 99}}
		c.Env.Process.Command = "python3 world.py" // to be put in another's place
		c.Policy.Context, c.Sampling.MaxTokens, c.Group.PerUpdate, c.Eval.Tasks = 2048, 64, 16, 100
	},
	"shop": shop,
	"sqlite": func(c *rl.Config) {
		shop(c) // which is the example that a world begins with
		c.Env.SQLite.Dir = "world"
	},
}

// shop has 150 tasks to train on and 50 to evaluate with, ten kinds of each. A ticket is some 60 tokens of the embedded policy, a
// look at an order 150.
func shop(c *rl.Config) {
	c.Env.Tasks = rl.TasksConfig{Train: rl.TaskRange{First: 0, Last: 149}, Eval: rl.TaskRange{First: 0, Last: 49}}
	c.Env.MaxTurns, c.Policy.Context, c.Sampling.MaxTokens, c.Eval.Tasks = 16, 1024, 32, 50
}
