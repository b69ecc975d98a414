package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

var readable = matching("absolute paths, with commas between, such as /opt/venv", `^/[^,\n\r]*( *, */[^,\n\r]*)*$`)

// fitCode fills in a sandbox and its limits.
func fitCode(c *rl.Config, given func(path string) bool) {
	o := &c.Env.Code
	if c.Env.Use != "code" {
		return
	}
	if !given("env.code.sandbox") {
		o.Sandbox = "micropython"
	}
	processes := o.Sandbox == "bubblewrap" || o.Sandbox == "container"
	for path, set := range map[string]func(){
		"timeout":      func() { o.Timeout = rl.Duration(10 * time.Second) },
		"memory_mb":    func() { o.MemoryMB = 64 },
		"files":        func() { o.Files = 200 },
		"disk_mb":      func() { o.DiskMB = 8 },
		"output_bytes": func() { o.OutputBytes = 8192 },
	} {
		if !given("env.code." + path) {
			set()
		}
	}
	if processes && !given("env.code.memory_mb") {
		o.MemoryMB = 512
	}
	if processes && !given("env.code.processes") {
		o.Processes = 32
	}
	if o.Sandbox == "container" && !given("env.code.runtime") {
		o.Runtime = "podman"
	}
}

func codeAlone(c rl.Config) (wrong, bool) {
	return disagree("env.code", "no such key without use: code", "", "env.code", "env.use"),
		c.Env.Use == "code" || c.Env.Code == rl.CodeConfig{}
}

// codeSandbox holds the keys of one sandbox against the sandbox that is used.
func codeSandbox(c rl.Config) (wrong, bool) {
	o := c.Env.Code
	for _, k := range []struct {
		key string
		set bool
		of  []string
	}{
		{"runtime", o.Runtime != "", []string{"container"}}, {"image", o.Image != "", []string{"container"}},
		{"see", o.See != "", []string{"bubblewrap"}}, {"processes", o.Processes != 0, []string{"bubblewrap", "container"}},
	} {
		if k.set && o.Sandbox != k.of[0] && o.Sandbox != k.of[len(k.of)-1] {
			return disagree("env.code."+k.key, "no such key with sandbox: "+o.Sandbox, "", "env.code."+k.key, "env.code.sandbox"), false
		}
	}
	return disagree("no env.code.image", "the image that programs run in, such as python:3.13-slim", "", "env.code.image", "env.code.sandbox"),
		o.Sandbox != "container" || o.Image != ""
}

func codeTimeout(c rl.Config) (wrong, bool) {
	return disagree(c.Env.Code.Timeout.String(), "less than env.episode_timeout, "+c.Env.EpisodeTimeout.String(), "or one program takes all of an episode's time", "env.code.timeout", "env.episode_timeout"),
		c.Env.Use != "code" || c.Env.Code.Timeout < c.Env.EpisodeTimeout
}
