package main

import (
	"context"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// begins is Invalid where a run that is new cannot begin, since its environment is not as its configuration says. It is asked where
// this process will work on the run, before the run's name is taken by a configuration that nothing comes of. What may be otherwise a
// while later, such as a server that is away, is for the run to wait for.
func begins(ctx context.Context, c *conn, cfg rl.Config) error {
	if _, _, err := c.Store.Config(ctx, cfg.Name); rl.KindOf(err) != rl.NotFound {
		return err
	}
	w, err := envs.Open(ctx, cfg.Env)
	if err == nil {
		err = suits(w, cfg)
	}
	if rl.KindOf(err) == rl.Invalid {
		return err
	}
	return nil
}

// suits is Invalid where a world lacks the tasks that a configuration evaluates or warms up with.
func suits(w envs.World, cfg rl.Config) error {
	if cfg.Eval.Every > 0 {
		if err := w.Evaluates(); err != nil {
			return err
		}
	}
	if cfg.WarmUp.Max > 0 && cfg.From == "" {
		return w.WarmsUp()
	}
	return nil
}
