package activities

import (
	"context"
	"strings"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// publishes reports whether the servers get versions from us, and do not find them by themselves.
func publishes(cfg rl.Config) bool {
	return cfg.Policy.Publish == "lora" || cfg.Policy.Publish == "restart"
}

// unversioned reports whether the servers play with a model of their own, which is no version of any run: in a run that does not
// train, and in a baseline.
func unversioned(cfg rl.Config) bool {
	return cfg.Policy.Use == "openai" && !publishes(cfg) && cfg.Updates == 0 && cfg.From == ""
}

// served is what the policy servers call a version: its own name, except where it is the model that they were started
// with: before there is an adapter, and in a run that does not train.
func (a *Activities) served(ctx context.Context, st *store.Store, cfg rl.Config, v rl.Version) (string, error) {
	switch {
	case unversioned(cfg):
		return cfg.Policy.Model, nil
	case cfg.Policy.Publish != "lora":
		return string(v), nil
	}
	return cached(ctx, a, &a.names, st.String()+" "+cfg.Policy.Model+" "+string(v), func() (string, error) {
		c, err := checkpointOf(ctx, st, v)
		if _, adapted := c.File(adapter.WeightsFile); err == nil && !adapted {
			return cfg.Policy.Model, nil
		}
		return string(v), err
	})
}

func checkpointOf(ctx context.Context, st *store.Store, v rl.Version) (rl.Checkpoint, error) {
	run, n, err := v.Parse()
	if err != nil {
		return rl.Checkpoint{}, err
	}
	_, c, err := st.FindCheckpoint(ctx, run, n)
	return c, err
}

// versionFiles are the files of a checkpoint that a server loads: the adapter alone, or the whole model.
func versionFiles(c rl.Checkpoint) (files []rl.File) {
	_, adapted := c.File(adapter.WeightsFile)
	for _, f := range c.Files {
		part := f.Name == adapter.WeightsFile || f.Name == adapter.ConfigFile
		if part || !adapted && !strings.HasPrefix(f.Name, "optimizer") {
			files = append(files, f)
		}
	}
	return files
}
