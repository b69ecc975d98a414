package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// judgeKeys are the keys that only a judge reads, and whether they are set.
func judgeKeys(r rl.RewardConfig) []struct {
	key string
	set bool
} {
	return []struct {
		key string
		set bool
	}{
		{"url", r.URL != ""}, {"model", r.Model != ""}, {"api_key_env", r.APIKeyEnv != ""}, {"rubric", r.Rubric != ""}, {"passes", r.Passes != 0},
		{"order", r.Order != ""}, {"ties", r.Ties != ""}, {"per_turn", r.PerTurn != ""}, {"result_chars", r.ResultChars != 0},
		{"context", r.Context != 0}, {"reply_tokens", r.ReplyTokens != 0}, {"judge_temperature", r.Temperature != 0}, {"timeout", r.Timeout != 0},
		{"concurrency", r.Concurrency != 0}, {"usd_in", r.USDIn != 0}, {"usd_out", r.USDOut != 0}, {"max_usd", r.MaxUSD != 0}, {"max_calls", r.MaxCalls != 0},
	}
}

func judgeServer(c rl.Config) (wrong, bool) {
	if !c.Reward.Judges() {
		return wrong{}, true
	}
	if c.Reward.URL == "" {
		return disagree("no reward.url", "the judge's base URL, such as https://api.openai.com/v1", "", "reward.url", "reward.use"), false
	}
	return disagree("no reward.model", "the server's name of the judge's model", "", "reward.model", "reward.use"), c.Reward.Model != ""
}

func judgeSettings(c rl.Config) (wrong, bool) {
	for _, k := range judgeKeys(c.Reward) {
		if k.set && !c.Reward.Judges() {
			return disagree("reward."+k.key, "no such key without a judge", "reward: {use: judge, url: ..., model: ...} asks one", "reward."+k.key, "reward.use"), false
		}
	}
	return wrong{}, true
}

func judgeDefaults(c rl.Config) (wrong, bool) {
	r := c.Reward
	for _, k := range []struct {
		key string
		set bool
	}{
		{"passes", r.Passes != 0}, {"order", r.Order != ""}, {"ties", r.Ties != ""}, {"per_turn", r.PerTurn != ""}, {"result_chars", r.ResultChars != 0},
		{"context", r.Context != 0}, {"reply_tokens", r.ReplyTokens != 0}, {"timeout", r.Timeout != 0}, {"concurrency", r.Concurrency != 0},
	} {
		if !k.set && r.Judges() {
			return disagree("0 or nothing", "a value, since a judge takes part", "", "reward."+k.key, "reward.use"), false
		}
	}
	return wrong{}, true
}

func judgeBands(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Reward.DeadBand), "0 with fewer than 2 passes", "how much a judge's own answers differ is measured between its passes", "reward.dead_band", "reward.passes"),
		c.Reward.DeadBand == 0 || c.Reward.Passes != 1
}

func judgeRoom(c rl.Config) (wrong, bool) {
	return disagree(strconv.Itoa(c.Reward.ReplyTokens), fmt.Sprintf("less than reward.context, %d", c.Reward.Context), "", "reward.reply_tokens", "reward.context"),
		c.Reward.Context == 0 || c.Reward.ReplyTokens < c.Reward.Context
}

func judgePrices(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Reward.MaxUSD), "the judge's prices beside it, reward.usd_in and reward.usd_out, in USD per million tokens", "without prices nothing is known to cost anything",
		"reward.max_usd", "reward.usd_in"), c.Reward.MaxUSD == 0 || !c.Reward.Judges() || c.Reward.USDIn > 0 || c.Reward.USDOut > 0
}

func gateAlone(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Reward.Gate), "another reward than reward.use", "", "reward.gate", "reward.use"), c.Reward.Gate == "" || c.Reward.Gate != c.Reward.Use
}

// gateRange: what passes a gate scores (1 + use)/2, which is above all that fails only where use lies from 0 to 1.
func gateRange(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Reward.Use), "exact, format or judge with reward.gate", "a reward below 0 would put attempts that pass below those that fail", "reward.use", "reward.gate"),
		c.Reward.Gate == "" || !slices.Contains([]string{"cost", "overlong", "turns"}, c.Reward.Use)
}

// gateOpens: cost and overlong never reach the 1 that passes a gate.
func gateOpens(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Reward.Gate), "exact, format, judge or turns", "a reward that is never above 0 lets no attempt pass", "reward.gate"),
		c.Reward.Gate != "cost" && c.Reward.Gate != "overlong"
}

func addedTwice(c rl.Config) (wrong, bool) {
	for _, t := range c.Reward.Add.Terms() {
		if t.Name == c.Reward.Use {
			return disagree(decimal(t.Weight), "0: reward.use is already "+t.Name, "", "reward.add."+t.Name, "reward.use"), false
		}
	}
	return wrong{}, true
}

func overlong(c rl.Config) (wrong, bool) {
	r := c.Reward
	if (r.Use == "overlong" || r.Add.Overlong != 0) && r.OverlongMax == 0 {
		return disagree("no reward.overlong_max", "the sampled tokens of an episode from which it earns -1", "", "reward.overlong_max", "reward.add.overlong", "reward.use"), false
	}
	return disagree(strconv.Itoa(r.OverlongBuffer), fmt.Sprintf("at most reward.overlong_max, %d", r.OverlongMax), "", "reward.overlong_buffer", "reward.overlong_max"),
		r.OverlongBuffer <= r.OverlongMax
}
