package config

import (
	"strings"
	"testing"
)

func TestAgreementsOfRewards(t *testing.T) {
	const head = "name: a\nenv: {use: orders}\n"
	const judged = head + "reward: {use: judge, url: 'https://h/v1', model: m, "
	for _, c := range []struct{ name, src, want string }{
		{"no server", head + "reward: {use: judge, model: m}", `run.yaml:3:15: reward.url: found no reward.url, expected the judge's base URL, such as https://api.openai.com/v1`},
		{"no model", head + "reward: {use: judge, url: 'https://h/v1'}", `run.yaml:3:15: reward.model: found no reward.model, expected the server's name of the judge's model`},
		{"a judge that is added needs a server", head + "reward: {add: {judge: 0.5}}", `run.yaml:3:9: reward.url: found no reward.url, expected the judge's base URL, such as https://api.openai.com/v1`},
		{"a judge as the gate needs a server", head + "reward: {gate: judge}", `run.yaml:3:9: reward.url: found no reward.url, expected the judge's base URL, such as https://api.openai.com/v1`},
		{"a setting without a judge", head + "reward: {use: exact, passes: 2}", `run.yaml:3:30: reward.passes: found reward.passes, expected no such key without a judge (reward: {use: judge, url: ..., model: ...} asks one)`},
		{"a price without a judge", head + "reward: {usd_in: 2}", `run.yaml:3:18: reward.usd_in: found reward.usd_in, expected no such key without a judge (reward: {use: judge, url: ..., model: ...} asks one)`},
		{"a key without a judge", head + "reward: {api_key_env: JUDGE_KEY}", `run.yaml:3:23: reward.api_key_env: found reward.api_key_env, expected no such key without a judge (reward: {use: judge, url: ..., model: ...} asks one)`},
		{"band of one pass", judged + "passes: 1, dead_band: 1.5}", `run.yaml:3:75: reward.dead_band: found 1.5, expected 0 with fewer than 2 passes (how much a judge's own answers differ is measured between its passes)`},
		{"one pass has no band by default", judged + "passes: 1}", ""},
		{"reply that fills the context", judged + "context: 1024, reply_tokens: 1024}", `run.yaml:3:82: reward.reply_tokens: found 1024, expected less than reward.context, 1024`},
		{"budget without prices", judged + "max_usd: 20}", `run.yaml:3:62: reward.max_usd: found 20, expected the judge's prices beside it, reward.usd_in and reward.usd_out, in USD per million tokens (without prices nothing is known to cost anything)`},
		{"budget without a judge", head + "reward: {max_usd: 20}", `run.yaml:3:19: reward.max_usd: found reward.max_usd, expected no such key without a judge (reward: {use: judge, url: ..., model: ...} asks one)`},
		{"no passes", judged + "passes: 0}", `run.yaml:3:61: reward.passes: found 0 or nothing, expected a value, since a judge takes part`},
		{"budget with one price", judged + "max_usd: 20, usd_out: 4}", ""},
		{"gate of itself", head + "reward: {use: exact, gate: exact}", `run.yaml:3:28: reward.gate: found "exact", expected another reward than reward.use`},
		{"gated reward below 0", head + "reward: {use: cost, gate: exact}", `run.yaml:3:15: reward.use: found "cost", expected exact, format or judge with reward.gate (a reward below 0 would put attempts that pass below those that fail)`},
		{"gated judge", judged + "gate: exact}", ""},
		{"gate that never opens", head + "reward: {use: format, gate: cost}", `run.yaml:3:29: reward.gate: found "cost", expected exact, format, judge or turns (a reward that is never above 0 lets no attempt pass)`},
		{"added twice", head + "reward: {use: exact, add: {exact: 2}}", `run.yaml:3:35: reward.add.exact: found 2, expected 0: reward.use is already exact`},
		{"overlong without a length", head + "reward: {add: {overlong: 1}}", `run.yaml:3:26: reward.overlong_max: found no reward.overlong_max, expected the sampled tokens of an episode from which it earns -1`},
		{"overlong alone without a length", head + "reward: {use: overlong}", `run.yaml:3:15: reward.overlong_max: found no reward.overlong_max, expected the sampled tokens of an episode from which it earns -1`},
		{"buffer longer than the length", head + "reward: {add: {overlong: 1}, overlong_max: 100, overlong_buffer: 101}", `run.yaml:3:66: reward.overlong_buffer: found 101, expected at most reward.overlong_max, 100`},
		{"overlong", head + "reward: {add: {overlong: 1}, overlong_max: 20480, overlong_buffer: 4096}", ""},
		{"negative weight", head + "reward: {add: {cost: -1}}", `run.yaml:3:22: reward.add.cost: found -1, expected a number from 0 to 1000000`},
		{"no such order", judged + "order: random}", `run.yaml:3:60: reward.order: found "random", expected shuffled or fixed`},
		{"no such ties", judged + "ties: none}", `run.yaml:3:59: reward.ties: found "none", expected allowed or forced`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(problems(t, c.src), "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
