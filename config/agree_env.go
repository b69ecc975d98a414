package config

import (
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// places is how many episodes a worker has room for at once in an environment that keeps something for each of them, and the keys that
// say so; 0: any number.
func places(c rl.Config) (n int, keys string) {
	e := c.Env
	switch {
	case e.Use == mcp && e.MCP.Share == "episode":
		return max(1, e.MCP.Servers), "env.mcp.servers"
	case e.Use == "openenv":
		return max(1, e.OpenEnv.Sessions*(1+strings.Count(e.OpenEnv.URL, ","))), "env.openenv.sessions x servers"
	case e.Use == "process":
		return max(1, e.Process.Processes*e.Process.Episodes), "env.process.processes x episodes"
	}
	return 0, ""
}

// fitPlaces has as many episodes live as there are places.
func fitPlaces(c *rl.Config, given func(path string) bool) {
	if n, _ := places(*c); n > 0 && !given("policy.concurrency") {
		c.Policy.Concurrency = n
	}
}

func enoughPlaces(c rl.Config) (wrong, bool) {
	n, keys := places(c)
	if n == 0 {
		return wrong{}, true
	}
	first, _, _ := strings.Cut(keys, " ")
	return disagree(fmt.Sprint(c.Policy.Concurrency), fmt.Sprintf("1 to %d, %s", n, keys), "an episode that waits for a place spends its own time on it",
		"policy.concurrency", first), c.Policy.Concurrency > 0 && c.Policy.Concurrency <= n
}
