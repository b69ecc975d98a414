package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// judgePatience is how long doctor waits for a judge's server.
const judgePatience = 15 * time.Second

// checkJudge asks the judge's server for its models, which costs nothing. Nil without a judge.
func (a *app) checkJudge(ctx context.Context, cfg rl.Config) []check {
	c := cfg.Reward
	if !c.Judges() {
		return nil
	}
	name := endpoint.At("judge", c.URL)
	key := ""
	if c.APIKeyEnv != "" {
		if key = a.getenv(c.APIKeyEnv); key == "" {
			err := rl.Errorf(rl.Unavailable, name, "the environment variable %s is not set here", c.APIKeyEnv)
			return []check{verdict(name, "", "set it where the workers of the judge queue run", err)}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	models, err := reward.NewClient(c, key, nil).Models(ctx)
	if err != nil {
		mend := "is reward.url right, with /v1, and does the server run?"
		if rl.KindOf(err) == rl.Refused {
			mend = "is the key in reward.api_key_env the right one?"
		}
		return []check{verdict(name, "", mend, err)}
	}
	if !slices.Contains(models, c.Model) {
		err := rl.Errorf(rl.NotFound, name, "it lists no model %q; there are: %s", c.Model, endpoint.Shorten(strings.Join(models, ", ")))
		return []check{verdict(name, "", "set reward.model to one of them", err)}
	}
	cost := "no prices are given, so nothing is known of its cost"
	if c.USDIn > 0 || c.USDOut > 0 {
		cost = fmt.Sprintf("%g USD per million prompt tokens, %g per million reply tokens", c.USDIn, c.USDOut)
	}
	return []check{verdict(name, "it answers and has "+c.Model+"; "+cost, "", nil)}
}
