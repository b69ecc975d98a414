package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
)

// checkUpdate tries what the run's update jobs need of the place where they run. Nil where they are this process's own.
func (a *app) checkUpdate(ctx context.Context, cfg rl.Config) (checks []check) {
	use := cfg.Update.Use
	if !slices.Contains(launch.Names(), use) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	host := launch.Host{Dir: filepath.Join(a.data, "jobs")}
	if a.storeURI(want{Store: cfg.Store}) == "" {
		host.Secret = map[string]string{"AWS_ACCESS_KEY_ID": ""} // a worker has the embedded store's
	}
	l, err := launch.Open(cfg.Update, host)
	if err != nil {
		return []check{verdict("update jobs, "+use, "", "mend what it names", err)}
	}
	if c, ok := l.(launch.Checker); ok {
		for _, f := range c.Check(ctx) {
			checks = append(checks, verdict(f.Name, f.Found, f.Mend, f.Err))
		}
	}
	return checks
}
