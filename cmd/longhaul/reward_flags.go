package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
)

// otherReward is what a command line changes in a run's reward.
type otherReward struct {
	reward, rubric, model, url string
	passes                     int
	set                        []string // KEY=VALUE
}

func (o *otherReward) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.reward, "reward", "", "the reward: reward.use of run.yaml (default: the run's; judge where a judge is described)")
	f.StringVar(&o.model, "model", "", "the judge's model")
	f.StringVar(&o.url, "url", "", "the judge's base URL, with /v1")
	f.IntVar(&o.passes, "passes", 0, "times that the judge is asked about a group, each in another order")
	f.StringArrayVar(&o.set, "set", nil, "another key of reward, as in run.yaml: reward.usd_in=0.4 (may be repeated)")
}

// with is o with the rubric in a file.
func (o otherReward) with(file string) otherReward {
	if o.rubric = ""; file != "" {
		o.rubric = "@" + file
	}
	return o
}

// of is a run's reward with the changes. What a judge needs and neither says has its default. Errors: Invalid.
func (o otherReward) of(cfg rl.Config) (r rl.RewardConfig, err error) {
	given := o.pairs(cfg.Reward.Judges())
	for _, p := range given {
		if key, _, ok := strings.Cut(p, "="); !ok || !strings.HasPrefix(key, "reward.") {
			return r, usagef("--set %q is not of the form reward.KEY=VALUE, such as reward.usd_in=0.4", p)
		}
	}
	pairs, err := parsePairs(given)
	if err != nil {
		return r, err
	}
	if cfg, _, err = config.Change(cfg, pairs, registered()); err != nil {
		return r, err
	}
	usual, err := ordinary(cfg)
	if err != nil {
		return r, err
	}
	usual.Reward = cfg.Reward // whether the rest of the run suits it matters in training alone
	return cfg.Reward, config.Check(usual, registered())
}

// ordinary is a run in a run's environment, with groups and evaluations of its size, that is the defaults' in all else.
func ordinary(cfg rl.Config) (rl.Config, error) {
	usual, err := config.Default(cfg.Env.Use)
	usual.Env, usual.Group, usual.Eval = cfg.Env, cfg.Group, cfg.Eval
	usual.Update.Minibatches = min(usual.Update.Minibatches, cfg.Group.Size*cfg.Group.PerUpdate)
	return usual, err
}

// limits reports whether o says how much a judge may cost.
func (o otherReward) limits() bool {
	return slices.ContainsFunc(o.set, func(p string) bool {
		return strings.HasPrefix(p, "reward.max_usd=") || strings.HasPrefix(p, "reward.max_calls=")
	})
}

// pairs are the changes as KEY=VALUE, in the order in which they count. A run that no judge scores is given one where the flags
// describe one.
func (o otherReward) pairs(judged bool) (all []string) {
	use := o.reward
	if use == "" && !judged && (o.rubric != "" || o.model != "" || o.url != "") {
		use = "judge"
	}
	passes := ""
	if o.passes != 0 {
		passes = strconv.Itoa(o.passes)
	}
	for _, p := range []struct{ key, value string }{{"use", use}, {"rubric", o.rubric}, {"model", o.model}, {"url", o.url}, {"passes", passes}} {
		if p.value != "" {
			all = append(all, "reward."+p.key+"="+p.value)
		}
	}
	return append(all, o.set...)
}
