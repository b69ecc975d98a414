package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny"
)

// checkTinker asks a Tinker service for its base models, and reads the tokenizer that conversations are turned into ids with.
// A tokenizer in a store is read when the run starts.
func (a *app) checkTinker(ctx context.Context, cfg rl.Config) check {
	p := cfg.Policy
	name := endpoint.At("tinker", p.URL)
	key := ""
	if p.APIKeyEnv != "" {
		if key = a.getenv(p.APIKeyEnv); key == "" {
			return verdict(name, "", "set it where the workers run", rl.Errorf(rl.Unavailable, name, "the environment variable %s is not set here", p.APIKeyEnv))
		}
	}
	if p.Base != "" && !strings.HasPrefix(p.Base, "s3://") {
		b, err := os.ReadFile(filepath.Join(p.Base, tiny.TokenizerFile))
		if err == nil {
			_, err = tinker.NewTemplate(b)
		}
		if err != nil {
			return verdict(name, "", "set policy.base to the directory of "+p.Model, rl.Errorf(rl.Invalid, "policy.base", "%w", err))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	models, err := tinker.New(tinker.Options{URL: p.URL, APIKey: key}).Models(ctx)
	if err != nil {
		return verdict(name, "", "is policy.url right, without /api/v1, and does the service run?", err)
	}
	if !slices.Contains(models, p.Model) {
		err := rl.Errorf(rl.NotFound, name, "it has no base model %q; there are: %s", p.Model, endpoint.Shorten(strings.Join(models, ", ")))
		return verdict(name, "", "set policy.model to one of them", err)
	}
	return verdict(name, "it answers and has "+p.Model, "", nil)
}
