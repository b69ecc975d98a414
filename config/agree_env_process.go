package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// fitProcess fills in how many programs there are.
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
