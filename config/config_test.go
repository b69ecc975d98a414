package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

var names = Names{
	Envs: []string{"maze", "orders"}, Rewards: []string{"cost", "exact", "format", "judge", "overlong", "turns"}, Advantages: []string{"cw_grpo", "dr_grpo", "gigpo", "grpo", "rloo"},
	Losses: []string{"cispo", "dpo", "gspo", "ppo", "sapo"}, Policies: []string{"openai", "tinker", "tiny"}, Launchers: []string{"embedded", "kubernetes", "local", "sagemaker", "tinker"},
}

// problems are the lines of Parse's message, without the heading.
func problems(t *testing.T, src string) []string {
	t.Helper()
	_, err := Parse("run.yaml", []byte(src), names)
	if err == nil {
		return nil
	}
	ps, ok := errors.AsType[Problems](err)
	if !ok || rl.KindOf(err) != rl.Invalid {
		t.Fatalf("error %T %v, want an *rl.Error of kind invalid around Problems", err, err)
	}
	var lines []string
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return lines
}

func TestDefaultIsTheDemoRecipe(t *testing.T) {
	c, err := Parse("run.yaml", []byte("name: a\nenv: {use: orders}\n"), names)
	if err != nil {
		t.Fatal(err)
	}
	want := rl.Config{
		Name: "a",
		Env: rl.EnvConfig{Use: "orders", Tasks: rl.TasksConfig{Train: rl.TaskRange{First: 0, Last: 9999}, Eval: rl.TaskRange{First: 100000, Last: 100199}},
			MaxTurns: 10, EpisodeTimeout: rl.Duration(30 * time.Minute), TurnTimeout: rl.Duration(time.Minute)},
		Policy:      rl.PolicyConfig{Use: "tiny", Width: 96, Layers: 3, Hidden: 256, Context: 256},
		WarmUp:      rl.WarmUpConfig{Gate: .97, Extra: 700, Max: 1300, Batch: 32, LearningRate: .002},
		Sampling:    rl.SamplingConfig{Temperature: 1, MaxTokens: 8, Seed: 1},
		Group:       rl.GroupConfig{Size: 8, PerUpdate: 128, PerActivity: 8, Quorum: .75, Valid: .5, Resample: 2, MaxStaleness: 1},
		Curriculum:  rl.CurriculumConfig{Visits: 2},
		Reward:      rl.RewardConfig{Use: "exact", DeadBand: 1.5},
		Advantage:   rl.AdvantageConfig{Use: "grpo", Std: "population", Epsilon: 1e-4, Singleton: "drop", ZeroVariance: "drop", Gamma: 1, StepWeight: 1},
		Loss:        rl.LossConfig{Use: "ppo", ClipLow: .2, ClipHigh: .28, TauPositive: 1, TauNegative: 1.05, Reduction: "token_mean", KL: "k3", KLIn: "loss"},
		Update:      rl.UpdateConfig{Use: "embedded", LearningRate: 5e-4, Minibatches: 8, MaxGradNorm: 1, Beta1: .9, Beta2: .99, WeightDecay: .01, Ramp: 3, FinalRate: .1, KLStop: .03},
		Updates:     40,
		Eval:        rl.EvalConfig{Every: 10, Tasks: 200, Promote: "success >= best - 0.01"},
		Guard:       rl.GuardConfig{Collapse: .5, Retries: 2},
		Checkpoints: rl.CheckpointsConfig{KeepLast: 5, KeepBest: 3},
	}
	if c != want {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestProblems(t *testing.T) {
	const head = "name: a\nenv: {use: orders}\n" // lines 1 and 2 of every file below
	for _, c := range []struct{ name, src, want string }{
		{"unknown key", head + "group: {sise: 8}", `run.yaml:3:9: found the unknown key "sise" in group, expected size, per_update, per_activity, quorum, valid, resample or max_staleness (did you mean size?)`},
		{"unknown key that belongs elsewhere", head + "kl_stop: 1", `run.yaml:3:1: found the unknown key "kl_stop" at the top, expected name, env, policy, from, warm_up, sampling, group, curriculum, reward, advantage, loss, update, updates, eval, guard, checkpoints or store (did you mean update.kl_stop?)`},
		{"of two names as near, the one that lacks a letter", head + "updats: 1", `run.yaml:3:1: found the unknown key "updats" at the top, expected name, env, policy, from, warm_up, sampling, group, curriculum, reward, advantage, loss, update, updates, eval, guard, checkpoints or store (did you mean updates?)`},
		{"a long name is no key", "name: orders20261130withlargerbatchesandlowerlearningrateandeverythingelse\nenv: {use: orders}", `run.yaml:1:7: name: found a text of 68 characters that may be a key (not repeated here), expected 1 to 63 of a-z 0-9 . _ - that start with a letter or a digit`},
		{"repeated key", head + "name: b", `run.yaml:3:1: name: found the key again, first in line 1, expected each key once`},
		{"repeated key below", head + "group:\n  size: 4\n  size: 4", `run.yaml:5:3: group.size: found the key again, first in line 4, expected each key once`},
		{"text for a number", head + "updates: many", `run.yaml:3:10: updates: found the text "many", expected a whole number from 0 to 999999`},
		{"quoted number", head + "updates: '9'", `run.yaml:3:10: updates: found the text "9", expected a whole number from 0 to 999999 (without quotes)`},
		{"number for a text", head + "loss: {use: 1e-3}", `run.yaml:3:13: loss.use: found the number 1e-3, expected cispo, dpo, gspo, ppo or sapo (as a text: "1e-3")`},
		{"truth value", head + "updates: true", `run.yaml:3:10: updates: found the truth value true, expected a whole number from 0 to 999999`},
		{"octal", head + "updates: 010", `run.yaml:3:10: updates: found the number 010, expected a whole number from 0 to 999999 (digits only, no leading zero, point or exponent)`},
		{"whole number too large for any type", head + "updates: 99999999999999999999", `run.yaml:3:10: updates: found the number 99999999999999999999, expected a whole number from 0 to 999999`},
		{"mapping for a number", head + "updates: {a: 1}", `run.yaml:3:10: updates: found a mapping, expected a whole number from 0 to 999999`},
		{"list for a section", head + "group:\n- size", `run.yaml:4:1: group: found a list, expected a mapping with size, per_update, per_activity, quorum, valid, resample and max_staleness`},
		{"empty section", head + "guard:\n", `run.yaml:3:1: guard: found nothing, expected a mapping with collapse and retries`},
		{"negative group size", head + "group: {size: -8}", `run.yaml:3:15: group.size: found -8, expected a whole number from 2 to 1024`},
		{"negative temperature", head + "sampling:\n    temperature: -0.1", `run.yaml:4:18: sampling.temperature: found -0.1, expected a number from 0 to 10`},
		{"not a number", head + "sampling: {temperature: .nan}", `run.yaml:3:25: sampling.temperature: found the number .nan, expected a number from 0 to 10`},
		{"too large to be a number", head + "sampling: {temperature: 1e999}", `run.yaml:3:25: sampling.temperature: found the number 1e999, expected a number from 0 to 10`},
		{"zero rate", head + "update: {learning_rate: 0}", `run.yaml:3:25: update.learning_rate: found 0, expected a number above 0, at most 1`},
		{"beta of 1", head + "update: {beta2: 1}", `run.yaml:3:17: update.beta2: found 1, expected a number from 0 to below 1`},
		{"width", head + "policy: {width: 100}", `run.yaml:3:17: policy.width: found 100, expected a multiple of 32 from 32 to 4096`},
		{"unknown reward", head + "reward: {use: exat}", `run.yaml:3:15: reward.use: found "exat", expected cost, exact, format, judge, overlong or turns (did you mean exact?)`},
		{"unknown estimator", head + "advantage: {use: ppo2}", `run.yaml:3:18: advantage.use: found "ppo2", expected cw_grpo, dr_grpo, gigpo, grpo or rloo`},
		{"a rule of an estimator", head + "advantage: {singleton: keeep, zero_variance: kept, gamma: 1.1}", `run.yaml:3:24: advantage.singleton: found "keeep", expected drop or keep (did you mean keep?)|run.yaml:3:46: advantage.zero_variance: found "kept", expected drop or keep|run.yaml:3:59: advantage.gamma: found 1.1, expected a number from 0 to 1`},
		{"after a comment with an umlaut", head + "# ü\nguard: {retries: 1}\nupdate: {ramp: 0}\nenv2: 1", `run.yaml:6:1: found the unknown key "env2" at the top, expected name, env, policy, from, warm_up, sampling, group, curriculum, reward, advantage, loss, update, updates, eval, guard, checkpoints or store (did you mean env?)`},
		{"column in characters", head + `eval: {promote: "ü", tasks: 0}`, `run.yaml:3:17: eval.promote: found "ü", expected METRIC >= best [+|- NUMBER], with METRIC one of success, greedy, sampled|run.yaml:3:29: eval.tasks: found 0, expected a whole number from 1 to 1000000000`},
		{"store", head + "store: /tmp/x", `run.yaml:3:8: store: found "/tmp/x", expected s3://bucket or s3://bucket/prefix`},
		{"anchor and alias", head + "group: &g {size: 4}\nguard: *g", `run.yaml:3:8: group: found an anchor (&), expected the value itself, written out|run.yaml:4:8: guard: found an alias (*), expected the value itself, written out`},
		{"merge key", head + "group:\n  <<: {size: 4}", `run.yaml:4:3: found a merge key (<<), expected every value written out`},
		{"tag", head + "updates: !!int 3", `run.yaml:3:10: updates: found a tag (!), expected the value itself, written out`},
		{"tab", head + "group:\n\tsize: 4", `run.yaml:4:1: found a tab (YAML indents with spaces only)`},
		{"two documents", head + "---\nname: b", `run.yaml:3:1: found a second document, expected one document: a run.yaml describes one run`},
		{"directive", "%YAML 1.2\n---\nname: a", `run.yaml:1:1: found a YAML directive (remove the line)`},
		{"open bracket", head + "group: {size: 4", `run.yaml:3:8: found what is not YAML: could not find flow mapping end token '}'`},
		{"open quote", head + `store: "s3`, `run.yaml:3:8: found what is not YAML: could not find end character of double-quoted text`},
		{"indentation", head + "updates: 3\n  group: 4", `run.yaml:3:10: found what is not YAML: mapping value is not allowed in this context`},
		{"colon without a space", "name:a", "run.yaml:1:1: found the text \"name:a\", expected keys such as name: and env: (a key ends with a colon and a space)"},
		{"a list", "- name: a", "run.yaml:1:1: found a list, expected keys such as name: and env: (a key ends with a colon and a space)"},
		{"empty", "", "run.yaml:1:1: found nothing, expected keys such as name: and env: (`longhaul init` writes a complete file)"},
		{"comments alone", "# name: a\n", "run.yaml:1:1: found nothing, expected keys such as name: and env: (`longhaul init` writes a complete file)"},
		{"binary", "name: a\nenv: \x00", "run.yaml:2:6: found the control character 0x00, expected UTF-8 text"},
		{"Latin-1", "# \xfcber\nname: a", "run.yaml:1:3: found the byte 0xfc, expected UTF-8 text"},
		{"no name", "env: {use: orders}", `run.yaml:1:1: name: found no such key at the top, expected name: 1 to 63 of a-z 0-9 . _ - that start with a letter or a digit (this key has no default)`},
		{"no environment", "name: a\nenv: {max_turns: 3}", `run.yaml:2:6: env.use: found no such key in env, expected use: maze or orders (this key has no default)`},
		{"empty name", `name: ""` + "\nenv: {use: orders}", `run.yaml:1:7: name: found nothing, expected 1 to 63 of a-z 0-9 . _ - that start with a letter or a digit`},
		{"name with a slash", "name: a/b\nenv: {use: orders}", `run.yaml:1:7: name: found "a/b", expected 1 to 63 of a-z 0-9 . _ - that start with a letter or a digit`},
		{"bad ranges", "name: a\nenv:\n  use: orders\n  tasks: {train: 9-3, eval: 7}", `run.yaml:4:18: env.tasks.train: found the text "9-3", expected a range of task indices such as 0-9999, first to last, up to 1000000000|run.yaml:4:29: env.tasks.eval: found the number 7, expected a range of task indices such as 0-9999, first to last, up to 1000000000`},
		{"bad durations", "name: a\nenv: {use: orders, turn_timeout: 30, episode_timeout: -1s}", `run.yaml:2:34: env.turn_timeout: found the number 30, expected a duration such as 30m or 1.5s, from 0.1s to 86400s|run.yaml:2:55: env.episode_timeout: found the text "-1s", expected a duration such as 30m or 1.5s, from 1s to 2592000s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(problems(t, c.src), "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestProblemsComeAllAtOnceInOrder(t *testing.T) {
	got := problems(t, "updates: x\nname: A\nenv:\n  use: order\n  trun_timeout: 3\ngroup: {size: 1, quorum: 2}\n")
	want := []string{"run.yaml:1:10: updates:", "run.yaml:2:7: name:", "run.yaml:4:8: env.use:", `run.yaml:5:3: found the unknown key "trun_timeout"`,
		"run.yaml:6:15: group.size:", "run.yaml:6:26: group.quorum:"}
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d is %q, want it to begin with %q", i, got[i], want[i])
		}
	}
}

func TestMessageIsBounded(t *testing.T) {
	_, err := Parse("run.yaml", []byte(strings.Repeat("a: 1\n", 1000)), names)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 1+shown+1 || lines[0] != "run.yaml: 1002 problems" || lines[len(lines)-1] != "and 977 problems more" {
		t.Errorf("%d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestOtherSpellings(t *testing.T) {
	plain, err := Parse("run.yaml", []byte("name: a\nenv: {use: orders}\nupdate: {learning_rate: 1e-3}\n"), names)
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"\ufeffname: a\r\nenv:\r\n  use: orders\r\nupdate:\r\n  learning_rate: 0.001\r\n",
		"{name: a, env: {use: orders}, update: {learning_rate: .001}}",
		`{"name": "a", "env": {"use": "orders"}, "update": {"learning_rate": 1.0e-3}}`,
		"---\n# a comment\nname: 'a' # more\nenv: {use: \"orders\",}\nupdate: {learning_rate: +1E-3}\n",
	} {
		if got, err := Parse("run.yaml", []byte(src), names); err != nil || got != plain {
			t.Errorf("%q: %v, %v", src, got, err)
		}
	}
}
