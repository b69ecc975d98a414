package config

import "github.com/longhaul-rl/longhaul/rl"

// starts are what the first run.yaml of an environment holds that its defaults cannot: where a server is, who plays.
var starts = map[string]func(*rl.Config){mcp: startMCP, agent: startAgent}

// Start is the config that `longhaul init` writes for an environment: a whole one, to be changed where it names what this
// machine does not have. Errors as Default.
func Start(env string) (rl.Config, error) {
	c, err := Default(env)
	start, ok := starts[env]
	if err != nil || !ok {
		return c, err
	}
	usual := c
	start(&c)
	changed := map[string]bool{}
	for _, f := range leaves {
		changed[f.path] = f.in(&c).Interface() != f.in(&usual).Interface()
	}
	fit(&c, func(path string) bool { return changed[path] })
	return c, nil
}
