package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// embedded is the trainer that is no job of its own.
const embedded = "embedded"

// fitJob fills in what an update job of its own needs to know.
func fitJob(u *rl.UpdateConfig, given func(path string) bool) {
	if launched(*u) && !given("update.timeout") {
		u.Timeout = rl.Duration(24 * time.Hour)
	}
	if u.Use == "local" && !given("update.local.python") {
		u.Local.Python = "python3"
	}
}

// launched reports whether an update is a job of its own: not this process's work, and no service's.
func launched(u rl.UpdateConfig) bool { return u.Use != embedded && u.Use != tinker }

func jobAlone(c rl.Config) (wrong, bool) {
	u := c.Update
	for _, k := range []struct {
		key   string
		wrong bool
	}{{"timeout", u.Timeout != 0 && !launched(u)}, {"usd_hour", u.USDHour != 0 && u.Use == embedded}} {
		if k.wrong {
			return disagree("update."+k.key, "no such key with use: "+u.Use, "its updates are no jobs of their own", "update."+k.key, "update.use"), false
		}
	}
	return wrong{}, true
}

func jobTimeout(c rl.Config) (wrong, bool) {
	return disagree("no update.timeout", "a duration, since updates are jobs of their own", "", "update.timeout", "update.use"),
		!launched(c.Update) || c.Update.Timeout != 0
}

func localAlone(c rl.Config) (wrong, bool) {
	return disagree("update.local.python", "no such key without use: local", "", "update.local.python", "update.use"),
		c.Update.Local.Python == "" || c.Update.Use == "local"
}

func localPython(c rl.Config) (wrong, bool) {
	return disagree("no update.local.python", "the interpreter that has longhaul_trainer", "", "update.local.python", "update.use"),
		c.Update.Local.Python != "" || c.Update.Use != "local"
}
