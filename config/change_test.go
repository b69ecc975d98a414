package config

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/longhaul-rl/longhaul/rl"
)

// changedBy is what becomes of a config by KEY=VALUE ..., and what is said of it; "~" marks what follows.
func changedBy(t *testing.T, cfg rl.Config, pairs ...string) (rl.Config, string) {
	t.Helper()
	var all []Pair
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		all = append(all, Pair{key, value})
	}
	changed, what, err := Change(cfg, all, names)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, c := range what {
		said = append(said, strings.Repeat("~", map[bool]int{true: 1}[c.Followed])+fmt.Sprintf("%s:%s>%s", c.Key, c.Was, c.Is))
	}
	return changed, strings.Join(said, " ")
}

// The defaults of a loss, an estimator and a judge come and go with it, but for what somebody chose.
func TestWhatFollowsAChange(t *testing.T) {
	own := recipe("orders")
	own.Loss.ClipHigh = .3
	judged, _ := changedBy(t, recipe("orders"), "reward.use=judge", "reward.url=http://judge/v1", "reward.model=m")
	for _, c := range []struct {
		from  rl.Config
		pairs string
		want  string
	}{
		{recipe("orders"), "loss.use=gspo", "loss.use:ppo>gspo ~loss.clip_low:0.2>0.0003 ~loss.clip_high:0.28>0.0004 ~loss.reduction:token_mean>sequence_mean"},
		{recipe("orders"), "loss.use=gspo loss.clip_low=0.2", "loss.use:ppo>gspo loss.clip_low:0.2>0.2 ~loss.clip_high:0.28>0.0004 ~loss.reduction:token_mean>sequence_mean"},
		{own, "loss.use=gspo", "loss.use:ppo>gspo ~loss.clip_low:0.2>0.0003 ~loss.reduction:token_mean>sequence_mean"},
		{recipe("orders"), "loss.use=dpo", "loss.use:ppo>dpo ~loss.beta:>0.1"},
		{recipe("orders"), "advantage.use=gigpo", "advantage.use:grpo>gigpo ~advantage.gamma:1>0.95"},
		{recipe("orders"), "update.learning_rate=1e-4", "update.learning_rate:0.0005>0.0001"},
		{recipe("orders"), "reward.use=judge reward.url=http://judge/v1 reward.model=m", "reward.use:exact>judge reward.url:>http://judge/v1 reward.model:>m ~reward.passes:>2 ~reward.order:>shuffled ~reward.ties:>allowed " +
			"~reward.per_turn:>off ~reward.result_chars:>4000 ~reward.context:>128000 ~reward.reply_tokens:>8192 ~reward.timeout:>5m ~reward.concurrency:>16"},
		{judged, "reward.passes=1", "reward.passes:2>1 ~reward.dead_band:1.5>0"},
		{judged, "advantage.use=cw_grpo", "advantage.use:grpo>cw_grpo ~reward.per_turn:off>asked"},
		{judged, "reward.use=exact", "reward.use:judge>exact ~reward.url:http://judge/v1> ~reward.model:m> ~reward.passes:2> ~reward.order:shuffled> ~reward.ties:allowed> " +
			"~reward.per_turn:off> ~reward.result_chars:4000> ~reward.context:128000> ~reward.reply_tokens:8192> ~reward.timeout:5m> ~reward.concurrency:16>"},
		{judged, "reward.api_key_env=SECRET", "reward.api_key_env:>a value that is not repeated here"},
	} {
		changed, got := changedBy(t, c.from, strings.Fields(c.pairs)...)
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.pairs, got, c.want)
		}
		if err := Check(changed, names); err != nil {
			t.Errorf("%s: %v", c.pairs, err)
		}
	}
}

// Another loss and back is no change.
func TestAChangeAndBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from := recipe("orders")
		uses := []string{"cispo", "dpo", "gspo", "sapo"}
		if rapid.Bool().Draw(rt, "own") {
			from.Loss.ClipHigh = .3
		}
		there, _ := changedBy(t, from, "loss.use="+rapid.SampledFrom(uses).Draw(rt, "use"))
		if back, _ := changedBy(t, there, "loss.use=ppo"); back != from {
			rt.Fatalf("%+v", back.Loss)
		}
	})
}
