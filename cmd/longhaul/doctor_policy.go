package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
)

// policyPatience is how long doctor waits for a policy server, which samples a token where it is to be trained on.
const policyPatience = 2 * time.Minute

// checkPolicy says what acts, and tries each of its servers.
func (a *app) checkPolicy(ctx context.Context, cfg rl.Config) (checks []check) {
	p := cfg.Policy
	switch p.Use {
	case "tiny":
		return []check{{Name: "policy", State: fine, Found: fmt.Sprintf("embedded: width %d, %d layers", p.Width, p.Layers)}}
	case "tinker":
		return []check{a.checkTinker(ctx, cfg)}
	}
	key := ""
	if p.APIKeyEnv != "" {
		if key = a.getenv(p.APIKeyEnv); key == "" {
			err := rl.Errorf(rl.Unavailable, "policy", "the environment variable %s is not set here", p.APIKeyEnv)
			return []check{verdict("policy", "", "set it where the workers of the rollout queue run", err)}
		}
	}
	for _, url := range policy.URLs(p.URL) {
		checks = append(checks, checkPolicyServer(ctx, cfg, policy.New(policy.Options{URL: url, APIKey: key}), endpoint.At("policy", url)))
	}
	return checks
}

// checkBase looks at the model that training starts from. One in a store is read when the run starts.
func checkBase(cfg rl.Config) []check {
	base := cfg.Policy.Base
	if base == "" || cfg.Policy.Use != "openai" || cfg.Updates == 0 || strings.HasPrefix(base, "s3://") {
		return nil
	}
	mend := "name a directory that a worker sees, or s3://bucket/prefix; a name on the Hugging Face hub is downloaded first: hf download NAME --local-dir DIR"
	return []check{verdict("policy.base "+base, "a model: weights, tokenizer and configuration", mend, activities.CheckBase(base))}
}

func checkPolicyServer(ctx context.Context, cfg rl.Config, client *policy.Client, name string) check {
	ctx, cancel := context.WithTimeout(ctx, policyPatience)
	defer cancel()
	training := cfg.Updates > 0
	err := client.Ready(ctx, cfg.Policy.Model, training)
	known := err == nil
	mend := "is policy.url right, with /v1, and does the server run?"
	switch rl.KindOf(err) {
	case rl.NotFound:
		if training && cfg.Policy.Publish != "lora" { // its model is published by the run
			err = nil
		}
		mend = "set policy.model to one of them"
	case rl.Refused:
		mend = "see what it says above"
	}
	if share := cfg.Policy.ShareGPU; err == nil && share != "" && share != "no" {
		err = client.Pausable(ctx)
		mend = "start vLLM with VLLM_SERVER_DEV_MODE=1, and --enable-sleep-mode for share_gpu: sleep"
	}
	if err == nil && known && training {
		var found, change string
		if found, change, err = checkTemplate(ctx, cfg, client); found != "" {
			return check{Name: name, State: warning, Found: "it answers, but " + found, Mend: change}
		}
	}
	return verdict(name, "it answers", mend, err)
}
