package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// world is the environment of a run. One that is made of files is the same in all updates and on all workers: files that
// differ from those the run began with are a Conflict.
func (a *Activities) world(ctx context.Context, st *store.Store, run rl.RunID, c rl.EnvConfig) (envs.World, error) {
	w, err := envs.Open(ctx, c)
	if err != nil || w.Digest == "" {
		return w, err
	}
	_, was, err := store.PutJSON(ctx, st, store.WorldKey(run), rl.World{Schema: rl.WorldSchema, Env: c.Use, SHA256: w.Digest})
	if err == nil && was.SHA256 != w.Digest {
		err = rl.Errorf(rl.Conflict, "env."+c.Use, "the files here are not those that the run began with (SHA-256 %.12s, then %.12s): bring those back, or start another run", w.Digest, was.SHA256)
	}
	return w, err
}
