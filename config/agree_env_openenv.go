package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// What HTTP calls a header, models a tool, and OpenEnv a field.
var (
	headerName = matching("the name of an HTTP header, such as X-API-Key", `^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)
	toolName   = matching("a name of a tool: up to 64 of a-z A-Z 0-9 _ -", `^[a-zA-Z0-9_-]{1,64}$`)
	fieldNames = matching("names of fields, with commas between, such as board,legal_moves", `^[A-Za-z_][A-Za-z0-9_]*( *, *[A-Za-z_][A-Za-z0-9_]*)*$`)
)

// fitOpenEnv fills in how servers of OpenEnv are used.
func fitOpenEnv(c *rl.Config, given func(path string) bool) {
	o := &c.Env.OpenEnv
	if c.Env.Use != "openenv" {
		return
	}
	for path, set := range map[string]func(){
		"url":           func() { o.URL = "http://127.0.0.1:8000" }, // where a server of OpenEnv listens unless told otherwise
		"sessions":      func() { o.Sessions = 1 },
		"tool":          func() { o.Tool = "act" },
		"output_bytes":  func() { o.OutputBytes = 16_384 },
		"score":         func() { o.Score = "sum" },
		"failed":        func() { o.Failed = "void" },
		"reset_timeout": func() { o.ResetTimeout = rl.Duration(2 * time.Minute) },
	} {
		if !given("env.openenv." + path) {
			set()
		}
	}
	if o.HeaderEnv != "" && !given("env.openenv.header") {
		o.Header = "Authorization"
	}
}

func openenvAlone(c rl.Config) (wrong, bool) {
	return disagree("env.openenv", "no such key without use: openenv", "", "env.openenv", "env.use"),
		c.Env.Use == "openenv" || c.Env.OpenEnv == rl.OpenEnvConfig{}
}

func openenvNeeds(c rl.Config) (wrong, bool) {
	o := c.Env.OpenEnv
	for _, k := range []struct {
		key, expected string
		set           bool
	}{
		{"url", "where a server listens", o.URL != ""}, {"sessions", "a value above 0", o.Sessions > 0}, {"tool", "a name of a tool", o.Tool != ""},
		{"output_bytes", "a value above 0", o.OutputBytes > 0}, {"score", "sum or last", o.Score != ""}, {"failed", "void or observation", o.Failed != ""},
		{"reset_timeout", "a value above 0", o.ResetTimeout > 0},
	} {
		if c.Env.Use == "openenv" && !k.set {
			return disagree("0 or nothing", k.expected, "", "env.openenv."+k.key, "env.use"), false
		}
	}
	return wrong{}, true
}

func openenvHeader(c rl.Config) (wrong, bool) {
	o := c.Env.OpenEnv
	return disagree("no env.openenv.header_env", "the environment variable that holds the value of "+o.Header, "", "env.openenv.header_env", "env.openenv.header"),
		o.Header == "" || o.HeaderEnv != ""
}
