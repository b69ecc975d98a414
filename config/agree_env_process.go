package config

import (
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// fitProcess fills in how many programs there are. As many episodes are live as they have places: more would only
// wait for one, on their own time.
func fitProcess(c *rl.Config, given func(path string) bool) {
	p := &c.Env.Process
	if c.Env.Use != "process" {
		return
	}
	for path, set := range map[string]func(){
		"processes":     func() { p.Processes = 2 },
		"episodes":      func() { p.Episodes = 16 },
		"start_timeout": func() { p.StartTimeout = rl.Duration(2 * time.Minute) },
	} {
		if !given("env.process." + path) {
			set()
		}
	}
	if !given("policy.concurrency") {
		c.Policy.Concurrency = max(1, p.Processes*p.Episodes)
	}
}

func processAlone(c rl.Config) (wrong, bool) {
	return disagree("env.process", "no such key without use: process", "", "env.process", "env.use"),
		c.Env.Use == "process" || c.Env.Process == rl.ProcessConfig{}
}

func processNeeds(c rl.Config) (wrong, bool) {
	p := c.Env.Process
	for _, k := range []struct {
		key string
		set bool
	}{{"processes", p.Processes > 0}, {"episodes", p.Episodes > 0}, {"start_timeout", p.StartTimeout > 0}} {
		if c.Env.Use == "process" && !k.set {
			return disagree("0 or nothing", "a value above 0", "", "env.process."+k.key, "env.use"), false
		}
	}
	return disagree("no env.process.command", "the command that starts the program, such as python3 world.py", "", "env.process.command", "env.process", "env.use"),
		c.Env.Use != "process" || c.Env.Process.Command != ""
}

func processPlaces(c rl.Config) (wrong, bool) {
	n := max(1, c.Env.Process.Processes*c.Env.Process.Episodes)
	return disagree(fmt.Sprint(c.Policy.Concurrency), fmt.Sprintf("1 to %d, env.process.processes x episodes", n), "an episode that waits for a place spends its own time on it",
		"policy.concurrency", "env.process.episodes"), c.Env.Use != "process" || c.Policy.Concurrency > 0 && c.Policy.Concurrency <= n
}
