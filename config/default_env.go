package config

import "github.com/longhaul-rl/longhaul/rl"

// suits makes the recipe one that suits an environment: which tasks there are, and how long an action and an episode are.
var suits = map[string]func(*rl.Config){
	"shop": func(c *rl.Config) {
		c.Env.Tasks = rl.TasksConfig{Train: rl.TaskRange{First: 0, Last: 149}, Eval: rl.TaskRange{First: 0, Last: 49}}
		c.Env.MaxTurns, c.Policy.Context, c.Sampling.MaxTokens = 16, 512, 32

	},
	"sqlite": func(c *rl.Config) {
		c.Env.SQLite.Dir = "world"
	},
}
