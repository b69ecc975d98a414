package config

import "github.com/longhaul-rl/longhaul/rl"

func sqliteAlone(c rl.Config) (wrong, bool) {
	dir := c.Env.SQLite.Dir
	if dir == "" {
		return disagree("no env.sqlite.dir", "the directory of a world's files", "docs/environments.md says what is in it", "env.sqlite.dir", "env.use"), c.Env.Use != "sqlite"
	}
	return disagree(quoted(dir), "the key only with use: sqlite", "", "env.sqlite.dir", "env.use"), c.Env.Use == "sqlite"
}
