package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workflows"
)

// baseline is what a command line says of a model that plays in place of a run's policy: any that an endpoint of the OpenAI API has.
type baseline struct {
	model, url, key string
	tokens          int
}

func (b *baseline) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&b.model, "model", "", "a baseline: the endpoint's name of the model that plays")
	f.StringVar(&b.url, "url", "", "its base URL, with /v1 (default: the run's policy.url)")
	f.StringVar(&b.key, "api-key-env", "", "environment variable that holds its key, where the workers run")
	f.IntVar(&b.tokens, "max-tokens", 0, "tokens of an action at most (default: the run's; 1024 where the embedded policy plays)")
}

// given says whether there is one. Errors: usage, for flags that have no meaning without --model.
func (b baseline) given() (bool, error) {
	if b.model == "" && (b.url != "" || b.key != "" || b.tokens != 0) {
		return false, usagef("--url, --api-key-env and --max-tokens are of a baseline: name it with --model")
	}
	return b.model != "", nil
}

// of is the run's configuration with the baseline as its policy, and nothing to train. Errors: Invalid, as config.Check.
func (b baseline) of(cfg rl.Config) (rl.Config, error) {
	was := cfg.Policy
	p := rl.PolicyConfig{Use: "openai", URL: b.url, Model: b.model, APIKeyEnv: b.key, Concurrency: was.Concurrency, Publish: "none", ShareGPU: "no"}
	if b.url == "" && was.Use == "openai" {
		p.URL = was.URL
		if b.key == "" {
			p.APIKeyEnv = was.APIKeyEnv
		}
	}
	if p.URL == "" {
		return cfg, usagef("--url: the base URL of the endpoint that has %s, such as http://gpu:8000/v1", b.model)
	}
	usual, err := ordinary(cfg)
	if err != nil {
		return cfg, err
	}
	switch {
	case b.tokens != 0:
		cfg.Sampling.MaxTokens = b.tokens
	case was.Use == "tiny": // which says a call in a few tokens
		cfg.Sampling.MaxTokens = 1024
	}
	cfg.Policy, cfg.From, cfg.Updates, cfg.WarmUp.Max = p, "", 0, 0
	usual.Policy, usual.Updates, usual.WarmUp.Max, usual.Sampling = p, 0, 0, cfg.Sampling // whether the rest suits it matters in training alone
	return cfg, config.Check(usual, registered())
}

// playBaseline is the evaluation of a run's held-out tasks by a baseline. It lies with version 0, before which nothing was learnt.
// Where the work is done on this machine, the endpoint is tried first: an evaluation waits for one that is away.
func (a *app) playBaseline(ctx context.Context, h *host, name string, b baseline) (p playing, err error) {
	if strings.Contains(name, "@") {
		return p, usagef("--model %s: a baseline is no version: name the run alone", b.model)
	}
	run := rl.RunID(name)
	_, cfg, err := h.Store.Config(ctx, run)
	if err != nil {
		return p, noRun(run, err)
	}
	if cfg, err = b.of(cfg); err != nil {
		return p, err
	}
	begin := func() (rl.Ref, error) {
		if here := h.work != nil || h.Holder != nil; here {
			for _, c := range a.checkPolicy(ctx, cfg) {
				if c.failed != nil {
					return rl.Ref{}, c.failed
				}
			}
		}
		return h.Store.PutConfig(ctx, cfg)
	}
	return playing{cfg, 0, workflows.BaselineKey(cfg), cfg.Policy.Model + " at " + cfg.Policy.URL, begin}, nil
}
