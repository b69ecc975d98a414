package main

import (
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
)

// What flags change in a run's reward: the rest stays, or has the judge's defaults.
func TestOtherReward(t *testing.T) {
	exact, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	judged, err := otherReward{model: "m", url: "http://h/v1", set: []string{"reward.usd_in=2", "reward.max_usd=20", "reward.add.format=0.5"}}.of(exact)
	if err != nil {
		t.Fatal(err)
	}
	if judged.Use != "judge" || judged.Passes != 2 || judged.Order != "shuffled" || judged.ReplyTokens != 8192 || judged.DeadBand != exact.Reward.DeadBand || judged.MaxUSD != 20 || judged.Add.Format != .5 {
		t.Errorf("a judge of an exact run: %+v", judged)
	}
	run := exact
	run.Reward, run.Advantage.Use = judged, "cw_grpo"
	for _, c := range []struct {
		name string
		otherReward
		want func(r *rl.RewardConfig) // changed from the run's
	}{
		{"nothing", otherReward{}, func(*rl.RewardConfig) {}},
		{"model and passes", otherReward{model: "n", passes: 4}, func(r *rl.RewardConfig) { r.Model, r.Passes = "n", 4 }},
		{"one pass has no band", otherReward{passes: 1}, func(r *rl.RewardConfig) { r.Passes, r.DeadBand = 1, 0 }},
		{"words", otherReward{rubric: "Be brief: \"short\"\n# not a comment"}, func(r *rl.RewardConfig) { r.Rubric = "Be brief: \"short\"\n# not a comment" }},
		{"no judge", otherReward{reward: "exact"}, func(r *rl.RewardConfig) { *r = rl.RewardConfig{Use: "exact", Add: r.Add, DeadBand: r.DeadBand} }},
		{"keys count last", otherReward{model: "n", set: []string{"reward.model=k", "reward.add.format=0"}}, func(r *rl.RewardConfig) { r.Model, r.Add.Format = "k", 0 }},
	} {
		want := run.Reward
		c.want(&want)
		if got, err := c.of(run); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", c.name, got, err, want)
		}
	}
	for want, o := range map[string]otherReward{
		"reward.url: found no reward.url":     {model: "m"},
		"reward.passes: found 99":             {url: "http://h/v1", model: "m", passes: 99},
		"there is no key":                     {set: []string{"reward.nope=1"}},
		"is not of the form reward.KEY=VALUE": {set: []string{"group.size=2"}},
		"none.md":                             otherReward{url: "http://h/v1", model: "m"}.with("none.md"),
	} {
		if _, err := o.of(exact); exitCode(t.Context(), err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestInWords(t *testing.T) {
	for want, r := range map[string]rl.RewardConfig{
		"exact": {Use: "exact"},
		"judge + 0.5 format (m at http://h/v1, 2 passes)":              {Use: "judge", Add: rl.RewardWeights{Format: .5}, Model: "m", URL: "http://h/v1", Passes: 2},
		`judge (m at http://h/v1, 2 passes, rubric "short is better")`: {Use: "judge", Model: "m", URL: "http://h/v1", Passes: 2, Rubric: "short is\nbetter\n"},
		"judge behind exact (m at http://h/v1, 1 pass)":                {Use: "judge", Gate: "exact", Model: "m", URL: "http://h/v1", Passes: 1},
	} {
		if got := inWords(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
