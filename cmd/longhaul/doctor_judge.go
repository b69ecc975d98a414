package main

import (
	"context"
	"errors"
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
	key, err := a.judgeKey(c)
	if err != nil {
		return []check{verdict(name, "", "set it where the workers of the judge queue run", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	models, err := reward.NewClient(c, key, nil).Models(ctx)
	if err != nil {
		mend := "is reward.url right, with /v1, and does the server run?"
		if errors.Is(err, endpoint.ErrKey) {
			mend = "name the variable that holds the judge's key in reward.api_key_env"
			if key != "" {
				mend = "is the key in " + c.APIKeyEnv + " the right one?"
			}
		}
		return []check{verdict(name, "", mend, err)}
	}
	if !slices.Contains(models, c.Model) {
		err := rl.Errorf(rl.Invalid, name, "it lists no model %q; there are: %s", c.Model, endpoint.Shorten(strings.Join(models, ", ")))
		return []check{verdict(name, "", "set reward.model to one of them", err)}
	}
	cost := "no prices are given, so nothing is known of its cost"
	if c.USDIn > 0 || c.USDOut > 0 {
		cost = fmt.Sprintf("%g USD per million prompt tokens, %g per million reply tokens", c.USDIn, c.USDOut)
	}
	return []check{verdict(name, "it answers and has "+c.Model+"; "+cost, "", nil)}
}

// judgeKey is the judge's key, empty where it needs none. Invalid: it is in a variable that this process does not have.
func (a *app) judgeKey(c rl.RewardConfig) (string, error) {
	key := a.getenv(c.APIKeyEnv)
	if c.APIKeyEnv != "" && key == "" {
		return "", rl.Errorf(rl.Invalid, "reward.api_key_env", "the environment variable %s is not set here", c.APIKeyEnv)
	}
	return key, nil
}

// hasJudgeKey is Invalid where a run that this process alone will work on would wait for a key that it does not have. What the run
// was set to counts before what its file says.
func (a *app) hasJudgeKey(ctx context.Context, c *conn, cfg rl.Config) error {
	_, stored, err := c.Store.Config(ctx, cfg.Name)
	switch {
	case err == nil:
		cfg = stored
	case rl.KindOf(err) != rl.NotFound:
		return err
	}
	_, err = a.judgeKey(cfg.Reward)
	return err
}
