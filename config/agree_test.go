package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
)

// A template may name a secret, and not hold its value.
func TestJobTemplateHoldsNoSecret(t *testing.T) {
	for text, holds := range map[string]bool{
		"- {name: NCCL_DEBUG, value: INFO}":                                             true,
		"- {name: TOKENIZERS_PARALLELISM, value: 'false'}":                              true,
		"- name: AWS_SECRET_ACCESS_KEY\n  valueFrom: {secretKeyRef: {name: s, key: k}}": true,
		"- name: HF_TOKEN\n  value:\n- name: X\n":                                       true,
		"- name: AWS_SECRET_ACCESS_KEY\n  value: 0123456789/abcdef":                     false,
		"- {name: HF_TOKEN, value: abc}":                                                false,
		"- {name: 'WANDB_API_KEY', value: 'abc'}":                                       false,
		`{"name":"DB_PASSWORD","value":"abc"}`:                                          false,
	} {
		if jobTemplate.holds(text) != holds {
			t.Errorf("%q may be one: %v", text, !holds)
		}
	}
}

func TestAgreements(t *testing.T) {
	const head = "name: a\nenv: {use: orders}\n"
	const served = head + "policy: {use: openai, url: 'http://gpu:8000/v1', model: Qwen/Qwen3-4B}\n"
	const service = head + "policy: {use: tinker, url: 'http://gpu:8000', model: Qwen/Qwen3-4B, base: /models/q}\nupdate: {use: tinker}\n"
	published := strings.Replace(served, "model:", "base: /models/qwen, publish: lora, adapters: /shared, model:", 1)
	based := strings.Replace(served, "model:", "base: /models/qwen, model:", 1)
	for _, c := range []struct{ name, src, want string }{
		{"members", head + "group: {size: 4, per_activity: 5}", `run.yaml:3:32: group.per_activity: found 5, expected at most group.size, 4`},
		{"minibatches", head + "group: {size: 2, per_update: 2}\nupdate: {minibatches: 5}", `run.yaml:4:23: update.minibatches: found 5, expected at most group.size x group.per_update, 4`},
		{"evaluation tasks", "name: a\nenv: {use: orders, tasks: {eval: 5-9}}\neval: {tasks: 6}", `run.yaml:3:15: eval.tasks: found 6, expected at most the 5 tasks of env.tasks.eval`},
		{"timeouts", "name: a\nenv: {use: orders, turn_timeout: 2h}", `run.yaml:2:34: env.turn_timeout: found 2h0m0s, expected less than env.episode_timeout, 30m0s (a call that hangs is to be noticed before the episode's time is over)`},
		{"greedy training", head + "sampling: {temperature: 0}", `run.yaml:3:25: sampling.temperature: found 0, expected a temperature above 0 in a run that trains (at 0 all members of a group act alike and there is nothing to compare)`},
		{"greedy evaluation", head + "sampling: {temperature: 0}\nupdates: 0", ""},
		{"context", head + "sampling: {max_tokens: 300}", `run.yaml:3:24: sampling.max_tokens: found 300, expected less than policy.context, 256`},
		{"the context is at fault", head + "policy: {context: 100}\nsampling: {max_tokens: 100}", `run.yaml:4:24: sampling.max_tokens: found 100, expected less than policy.context, 100`},
		{"weights", head + "policy: {layers: 64, width: 1024, hidden: 1024}", `run.yaml:3:29: policy.width: found a policy of 470554624 weights, expected width, layers and hidden that make at most 268435456 (the embedded trainer is for small policies)`},
		{"the layers are at fault", head + "policy: {hidden: 16384, layers: 64}", `run.yaml:3:33: policy.width: found a policy of 304423488 weights, expected width, layers and hidden that make at most 268435456 (the embedded trainer is for small policies)`},
		{"no server", head + "policy: {use: openai, model: m}\nupdates: 0", `run.yaml:3:15: policy.url: found no policy.url, expected the server's base URL, such as http://gpu:8000/v1`},
		{"no model", head + "policy: {use: openai, url: 'http://a'}\nupdates: 0", `run.yaml:3:15: policy.model: found no policy.model, expected the server's name of the model`},
		{"a server for tiny", head + "policy: {url: 'http://a'}", `run.yaml:3:15: policy.url: found policy.url, expected no such key with use: tiny (tiny runs in this process)`},
		{"a size for a server", strings.Replace(served, "model:", "layers: 2, model:", 1) + "updates: 0", `run.yaml:3:58: policy.layers: found 2, expected the key only with use: tiny (a server's model has its own size)`},
		{"servers", strings.Replace(served, "http://gpu:8000/v1", "http://a/v1, http://b/v1", 1) + "updates: 0", ""},
		{"a server twice", strings.Replace(served, "http://gpu:8000/v1", "http://a/v1,http://a/v1/", 1) + "updates: 0", `run.yaml:3:28: policy.url: found "http://a/v1,http://a/v1/", expected http:// or https:// URLs without user, password, query or fragment, each once, separated by commas`},
		{"adapters nowhere", strings.Replace(served, "model:", "publish: lora, model:", 1) + "updates: 0", `run.yaml:3:59: policy.adapters: found no policy.adapters, expected a directory that workers and servers share, with publish: lora`},
		{"adapters by chance", strings.Replace(served, "model:", "publish: lora, adapters: lora, model:", 1) + "updates: 0", `run.yaml:3:75: policy.adapters: found "lora", expected an absolute path`},
		{"a restart without a command", strings.Replace(served, "model:", "publish: restart, adapters: /v, model:", 1) + "updates: 0", `run.yaml:3:59: policy.restart: found no policy.restart, expected the command that has the servers serve another model, with publish: restart`},
		{"a command for nothing", strings.Replace(served, "model:", "restart: 'true', model:", 1) + "updates: 0", `run.yaml:3:59: policy.restart: found policy.restart, expected no such key with publish: none`},
		{"a GPU shared by nobody", head + "policy: {share_gpu: pause}", `run.yaml:3:21: policy.share_gpu: found policy.share_gpu, expected no such key with use: tiny (only servers of the OpenAI API are told of versions)`},
		{"warm-up of a server", served + "updates: 0\nwarm_up: {max: 3}", `run.yaml:5:16: warm_up.max: found 3, expected 0, unless policy.use is tiny (only the embedded policy has a warm-up)`},
		{"embedded update of a server", served, `run.yaml:3:15: update.use: found "embedded", expected an update job that can train policy.use: openai (the embedded trainer trains tiny; with updates: 0 a run only evaluates)`},
		{"a server trained elsewhere", strings.Replace(served, "model:", "base: /models/qwen, model:", 1) + "update: {use: local}", ""},
		{"another run's policy, trained on", served + "update: {use: local}\nfrom: best(orders-1)", ""},
		{"nothing to train from", served + "update: {use: local}", `run.yaml:3:15: policy.base: found no policy.base, expected the model to train, as the directory or the s3://bucket/prefix of its Hugging Face files (or from, to start from another run's checkpoint)`},
		{"a base for tiny", head + "policy: {base: /models/qwen}", `run.yaml:3:16: policy.base: found policy.base, expected no such key with use: tiny (tiny runs in this process)`},
		{"the embedded trainer as a job", head + "update: {timeout: 1h}", `run.yaml:3:19: update.timeout: found update.timeout, expected no such key with use: embedded (its updates are no jobs of their own)`},
		{"the embedded trainer at a price", head + "update: {usd_hour: 1}", `run.yaml:3:20: update.usd_hour: found update.usd_hour, expected no such key with use: embedded (its updates are no jobs of their own)`},
		{"an interpreter for nobody", head + "update: {local: {python: python3}}", `run.yaml:3:26: update.local.python: found update.local.python, expected no such key without use: local`},
		{"a job on this machine", head + "update: {use: local, timeout: 1h, usd_hour: 2.5, local: {python: /opt/venv/bin/python}}", ""},
		{"trained by a service", service, ""},
		{"a service at a price", strings.Replace(service, "use: tinker}", "use: tinker, usd_hour: 2}", 1), ""},
		{"a service as a job", strings.Replace(service, "use: tinker}", "use: tinker, timeout: 1h}", 1), `run.yaml:4:32: update.timeout: found update.timeout, expected no such key with use: tinker (its updates are no jobs of their own)`},
		{"a service's scale", strings.Replace(service, "use: tinker}", "use: tinker, lora_alpha: 16}", 1), `run.yaml:4:35: update.lora_alpha: found 16, expected the key only with use: one of [local kubernetes sagemaker]`},
		{"a service that serves what another trains", strings.Replace(served, "use: openai,", "use: openai, base: /m,", 1) + "update: {use: tinker}", `run.yaml:4:15: update.use: found "tinker", expected policy.use: tinker with it (the service that trains the policy also serves it)`},
		{"a service's weights trained elsewhere", strings.Replace(service, "use: tinker}", "use: local}", 1), `run.yaml:4:15: update.use: found "local", expected tinker with policy.use: tinker (no other job reaches weights that the service holds)`},
		{"a loss that the service has not", service + "loss: {use: gspo}", `run.yaml:5:13: loss.use: found "gspo", expected ppo or cispo with update.use: tinker (the service knows no other of the policy losses)`},
		{"a part of a loss that the service has not", service + "loss: {kl_coef: 0.1}", `run.yaml:5:17: loss.kl_coef: found 0.1, expected 0 with update.use: tinker (the service computes the loss, and has no such part)`},
		{"a gradient's norm in a service", strings.Replace(service, "use: tinker}", "use: tinker, max_grad_norm: 1}", 1), `run.yaml:4:38: update.max_grad_norm: found 1, expected 0 with update.use: tinker (the service's optim_step scales no gradient down)`},
		{"another temperature in a service", service + "sampling: {temperature: 0.7}", `run.yaml:5:25: sampling.temperature: found 0.7, expected 1 with update.use: tinker (its log-probabilities are those of temperature 1)`},
		{"a service's reduction without one", head + "update: {tinker: {reduces: sum}}", `run.yaml:3:28: update.tinker.reduces: found update.tinker.reduces, expected no such key without use: tinker`},
		{"a cluster for nobody", head + "update: {kubernetes: {image: trainer}}", `run.yaml:3:22: update.kubernetes: found update.kubernetes, expected no such key without use: kubernetes`},
		{"a cluster without an image", head + "update: {use: kubernetes, kubernetes: {queue: gpus}}", `run.yaml:3:39: update.kubernetes.image: found no update.kubernetes.image, expected the image that the job runs (infra/deploy/trainer.Dockerfile makes one)`},
		{"a cluster", head + "update: {use: kubernetes, kubernetes: {image: trainer}}", ""},
		{"more processes than GPUs", head + "update: {use: kubernetes, processes: 8, kubernetes: {image: trainer, gpus: 2}}", `run.yaml:3:38: update.processes: found 8, expected at most update.kubernetes.gpus, 2 (each process has a GPU)`},
		{"a region for nobody", head + "update: {sagemaker: {spot: no}}", `run.yaml:3:21: update.sagemaker: found update.sagemaker, expected no such key without use: sagemaker`},
		{"SageMaker without a role", head + "update: {use: sagemaker, sagemaker: {region: eu-central-1}}", `run.yaml:3:37: update.sagemaker.role: found no update.sagemaker.role, expected the role that a job has`},
		{"SageMaker with nothing", head + "update: {use: sagemaker}", `run.yaml:3:15: update.sagemaker.region: found no update.sagemaker.region, expected the AWS region of the jobs`},
		{"half a VPC", head + "update: {use: sagemaker, sagemaker: {region: eu-central-1, role: 'arn:aws:iam::123456789012:role/a', image: i, instance: ml.g5.xlarge, subnets: subnet-1}}", `run.yaml:3:145: update.sagemaker.subnets: found one without the other, expected both update.sagemaker.subnets and update.sagemaker.security_groups, or neither`},
		{"packing in the embedded trainer", head + "update: {row_tokens: 512}", `run.yaml:3:22: update.row_tokens: found 512, expected the key only with use: one of [local kubernetes sagemaker]`},
		{"an adapter for tiny", head + "update: {use: local, lora_rank: 8}", `run.yaml:3:33: update.lora_rank: found 8, expected 0 with policy.use: tiny (the embedded server plays whole models, without adapters)`},
		{"a scale of no adapter", based + "update: {use: local, lora_alpha: 8}", `run.yaml:4:34: update.lora_alpha: found 8, expected 0 without an update.lora_rank (there is no adapter to scale)`},
		{"an adapter that no server gets", based + "update: {use: local, lora_rank: 8}", `run.yaml:4:33: policy.publish: found "none", expected lora with an update.lora_rank (an adapter is published as one)`},
		{"no adapter for the servers", published + "update: {use: local}", `run.yaml:3:79: update.lora_rank: found 0, expected a rank, with policy.publish: lora (all weights would be trained, and there would be no adapter to publish)`},
		{"everything in PyTorch", published + "update: {use: local, lora_rank: 8, lora_alpha: 32, precision: float32, gradient_checkpointing: on, processes: 8, row_tokens: 16384}", ""},
		{"ratio cap inside of the clip", head + "loss: {ratio_cap: 1.1}", `run.yaml:3:19: loss.ratio_cap: found 1.1, expected 0, or at least 1 + loss.clip_high, 1.28 (below, it would undo the clip)`},
		{"ratio cap of another loss", head + "loss: {use: sapo, ratio_cap: 3}", `run.yaml:3:30: loss.ratio_cap: found 3, expected 0 with use: sapo (only ppo has a ratio to cap where the advantage is negative)`},
		{"length of a mean", head + "loss: {length: 100}", `run.yaml:3:16: loss.length: found 100, expected 0 with reduction: token_mean (only constant divides by a length)`},
		{"mismatch cap", head + "loss: {mismatch_cap: 0.5}", `run.yaml:3:22: loss.mismatch_cap: found 0.5, expected 0, or at least 1 (below 1, it would weigh down the tokens that agree)`},
		{"k1 in the loss", head + "loss: {kl: k1, kl_coef: 0.1}", `run.yaml:3:12: loss.kl: found k1, expected k2 or k3 with kl_in: loss (the gradient of k1 is 0 on average: it holds nothing back)`},
		{"k1 in the reward", head + "loss: {kl: k1, kl_in: reward, kl_coef: 0.1}", ""},
		{"beta without pairs", head + "loss: {beta: 0.1}", `run.yaml:3:14: loss.beta: found 0.1, expected a number above 0 with use: dpo, and 0 with the others`},
		{"pairs with an entropy", head + "loss: {use: dpo, entropy_coef: 0.1}", `run.yaml:3:32: loss.entropy_coef: found 0.1, expected 0 with use: dpo (a preference loss has no ratio and holds to its reference by itself)`},
		{"a reference for nothing", head + "loss: {reference: orders-1@0}", `run.yaml:3:19: loss.reference: found "orders-1@0", expected a loss.kl_coef above 0, or use: dpo (nothing is compared with the reference)`},
		{"a reference to come", head + "loss: {kl_coef: 0.1, reference: a@000005}", `run.yaml:3:33: loss.reference: found "a@000005", expected version 0 of this run, or a version of another (the run's later versions are made after the first update needs it)`},
		{"a reference that is no version", head + "loss: {kl_coef: 0.1, reference: best(a)}", `run.yaml:3:33: loss.reference: found "best(a)", expected RUN@VERSION, such as orders-1@000012`},
		{"everything in a loss", head + "loss: {ratio_cap: 3, reduction: constant, length: 100, mismatch_cap: 2, off_policy_mask: 1, kl: k2, kl_coef: 0.1, reference: orders-1@0, entropy_coef: 0.01}", ""},
		{"promotion", head + "eval: {promote: success >= best + 2}", `run.yaml:3:17: eval.promote: found "success >= best + 2", expected an offset of less than 1 (a success is a share, from 0 to 1)`},
		{"contributions of nobody", head + "advantage: {use: cw_grpo}", `run.yaml:3:18: advantage.use: found "cw_grpo", expected reward: {use: judge, per_turn: asked} (its turns are weighed by what the judge says that each contributed)`},
		{"contributions unasked", head + "advantage: {use: cw_grpo}\nreward: {use: judge, url: 'http://a', model: m, per_turn: off}", `run.yaml:3:18: advantage.use: found "cw_grpo", expected reward: {use: judge, per_turn: asked} (its turns are weighed by what the judge says that each contributed)`},
		{"rewards by turn twice", head + "advantage: {use: gigpo}\nreward: {add: {turns: 1}}", `run.yaml:3:18: advantage.use: found "gigpo", expected a score without reward turns (it adds what the environment gave turn by turn to the score itself)`},
		{"one complaint about one value", head + "group: {size: -1, per_activity: 8}", `run.yaml:3:15: group.size: found -1, expected a whole number from 2 to 1024`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(problems(t, c.src), "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDefaultsFitWhatTheFileSays(t *testing.T) {
	const head = "name: a\nenv: {use: orders}\n"
	for _, c := range []struct {
		src string
		ok  func(rl.Config) bool
	}{
		{head + "group: {size: 2, per_update: 3}", func(c rl.Config) bool { return c.Group.PerActivity == 2 && c.Update.Minibatches == 6 }},
		{"name: a\nenv: {use: orders, tasks: {train: 0-5}}", func(c rl.Config) bool { return c.Group.PerUpdate == 6 && c.Update.Minibatches == 8 }},
		{head + "update: {use: local}", func(c rl.Config) bool {
			return c.Update.Precision == "float32" && c.Update.RowTokens == 1024 && c.Update.Processes == 1 && c.Update.Checkpointing == "off"
		}},
		{head + "loss: {use: cispo}", func(c rl.Config) bool { return c.Loss.ClipLow == 1 && c.Loss.ClipHigh == 4 }},
		{head + "advantage: {use: cw_grpo}\nreward: {use: judge, url: 'http://a', model: m}", func(c rl.Config) bool { return c.Reward.PerTurn == "asked" }},
		{head + "advantage: {use: gigpo}", func(c rl.Config) bool { return c.Advantage.Gamma == .95 }},
		{head + "advantage: {use: gigpo, gamma: 1}", func(c rl.Config) bool { return c.Advantage.Gamma == 1 }},
		{head + "update: {use: local}", func(c rl.Config) bool {
			return c.Update.Timeout.String() == "24h0m0s" && c.Update.Local.Python == "python3"
		}},
		{head + "policy: {use: tinker, url: 'http://h', model: m, base: /m}\nupdate: {use: tinker}", func(c rl.Config) bool {
			u := c.Update
			return u.LoRARank == 32 && u.Tinker.Reduces == "sequence_mean" && u.MaxGradNorm == 0 && u.WeightDecay == 0
		}},
		{head + "update: {use: kubernetes, kubernetes: {image: trainer}}", func(c rl.Config) bool {
			return c.Update.Kubernetes.Keep.String() == "24h0m0s" && c.Update.Timeout.String() == "24h0m0s"
		}},
		{head + "update: {use: sagemaker, sagemaker: {region: eu-central-1, role: 'arn:aws:iam::123456789012:role/a', image: i, instance: ml.g5.xlarge}}", func(c rl.Config) bool {
			return c.Update.SageMaker.VolumeGB == 100 && c.Update.SageMaker.Spot == "yes"
		}},
		{head + "loss: {use: cispo, clip_high: 2}", func(c rl.Config) bool { return c.Loss.ClipLow == 1 && c.Loss.ClipHigh == 2 }},
		{head + "loss: {use: gspo}", func(c rl.Config) bool {
			return c.Loss.ClipLow == 3e-4 && c.Loss.ClipHigh == 4e-4 && c.Loss.Reduction == "sequence_mean"
		}},
		{head + "loss: {use: gspo, reduction: token_mean}", func(c rl.Config) bool { return c.Loss.Reduction == "token_mean" && c.Loss.ClipHigh == 4e-4 }},
		{head + "loss: {use: sapo}", func(c rl.Config) bool { return c.Loss.Reduction == "sequence_mean" && c.Loss.TauNegative == 1.05 }},
		{"name: a\nenv: {use: orders, tasks: {eval: 5-9}, episode_timeout: 5s}", func(c rl.Config) bool {
			return c.Eval.Tasks == 5 && c.Env.TurnTimeout.String() == "2.5s"
		}},
		{"name: a\nenv: {use: maze}", func(c rl.Config) bool { return c.WarmUp.Max == 0 && c.Policy.Width == 96 }},
		{head + "updates: 0\npolicy: {use: openai, url: 'https://h/v1', model: m, api_key_env: OPENAI_API_KEY}", func(c rl.Config) bool {
			return c.WarmUp.Max == 0 && c.Policy.Width == 0 && c.Sampling.MaxTokens == 1024 && c.Policy.APIKeyEnv == "OPENAI_API_KEY"
		}},
		{head + "reward: {use: judge, url: 'https://h/v1', model: m, max_calls: 9}", func(c rl.Config) bool {
			return c.Reward.Passes == 2 && c.Reward.DeadBand == 1.5 && c.Reward.Ties == "allowed" && c.Reward.Timeout.String() == "5m0s"
		}},
		{head + "reward: {use: exact, add: {judge: 0.5}, url: 'https://h/v1', model: m, passes: 1}", func(c rl.Config) bool {
			return c.Reward.Passes == 1 && c.Reward.DeadBand == 0 && c.Reward.Order == "shuffled"
		}},
	} {
		cfg, err := Parse("run.yaml", []byte(c.src), names)
		if err != nil || !c.ok(cfg) {
			t.Errorf("%q: %+v, %v", c.src, cfg, err)
		}
	}
}

func TestCheck(t *testing.T) {
	cfg := recipe("orders")
	if err := Check(cfg, names); err != nil {
		t.Fatalf("the default config: %v", err)
	}
	cfg.Updates, cfg.Reward.Use = -1, "luck"
	err := Check(cfg, names)
	want := "config: 2 problems\nreward.use: found \"luck\", expected cost, exact, format, judge, overlong or turns\nupdates: found -1, expected a whole number from 0 to 999999"
	if err == nil || err.Error() != want || rl.KindOf(err) != rl.Invalid {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := Check(cfg, Names{}); err == nil || strings.Contains(err.Error(), "luck") {
		t.Errorf("without names, a name must not be checked: %v", err)
	}
}

func TestKeysAreNeverRepeated(t *testing.T) {
	const head = "name: a\nenv: {use: orders}\n"
	for _, key := range []string{"sk-proj-AbCdEfGh0123456789", "hf_AbCdEfGhIjKlMnOp", "AKIAIOSFODNN7EXAMPLE", "0123456789abcdef0123456789abcdef",
		"eyJhbGciOiJIUzI1NiJ9.e30.x", "1234567890", "ghp_0123456789abcdefghij"} {
		for _, src := range []string{
			"policy: {api_key_env: %}", "policy: {api_key: %}", "policy: {use: openai, url: 'http://me:%@host/v1'}", "policy: {api_key_env: [%]}",
			"policy: {api_key_env: {%: 1}}", "%: 1", "policy:\n  api_key_env: %\n wrong: indentation", "policy: {api_key_env: \"%", "policy: {api_key_env: *%}",
		} {
			if key == "1234567890" && src == "%: 1" {
				continue // a bare number is no key that one could know by its looks
			}
			_, err := Parse("run.yaml", []byte(head+strings.ReplaceAll(src, "%", key)), names)
			if err == nil {
				t.Errorf("%q with %q is accepted", src, key)
			} else if strings.Contains(err.Error(), key[4:]) {
				t.Errorf("%q with %q is repeated: %v", src, key, err)
			}
		}
	}
	_, err := Parse("run.yaml", []byte(head+"policy: {use: openai, url: 'http://h', model: sk-abcdefghijkl}\nupdates: 0"), names)
	ps, _ := errors.AsType[Problems](err)
	if len(ps) != 1 || ps[0].Key != "policy.model" || strings.Contains(err.Error(), "abcdef") {
		t.Errorf("a key as the model: %v", err)
	}
}

func TestDiff(t *testing.T) {
	a := recipe("orders")
	b := a
	if d := Diff(a, b); d != nil {
		t.Errorf("equal configs differ: %v", d)
	}
	b.Update.LearningRate, b.Store, b.Env.Tasks.Eval.Last, b.Env.TurnTimeout = 0.001, "s3://b", 100099, b.Env.TurnTimeout*90
	want := []string{
		"env.tasks.eval: 100000-100199 here, 100000-100099 in the run",
		"env.turn_timeout: 1m here, 1h30m in the run",
		"update.learning_rate: 0.0005 here, 0.001 in the run",
		`store: "" here, s3://b in the run`,
	}
	if got := strings.Join(Diff(a, b), "|"); got != strings.Join(want, "|") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, "|"))
	}
}

func TestNearest(t *testing.T) {
	list := []string{"learning_rate", "minibatches", "use", "kl_stop"}
	for in, want := range map[string]string{"learning-rate": "learning_rate", "learnign_rate": "learning_rate", "LearningRate": "learning_rate",
		"minibatch": "minibatches", "us": "use", "xyz": "", "": "", "klstop": "kl_stop", strings.Repeat("a", 1<<16): ""} {
		if got := nearest(in, list); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestAgreementsOfKinds(t *testing.T) {
	kinds := names
	kinds.Envs = []string{"code", "openenv", "orders"}
	const openenv, code = "name: a\nenv: {use: openenv, openenv: {", "name: a\nenv: {use: code, code: {"
	for _, c := range []struct{ src, want string }{
		{openenv + "url: 'http://a, https://b', sessions: 4, header_env: KEY}}\npolicy: {concurrency: 8}", ""},
		{openenv + "sessions: 0}}", "env.openenv.sessions: found 0 or nothing, expected a value above 0"},
		{openenv + "header: X-Key}}", "run.yaml:2:39: env.openenv.header_env: found no env.openenv.header_env, expected the environment variable that holds the value of X-Key"},
		{openenv + "sessions: 3}}\npolicy: {concurrency: 4}", "run.yaml:3:23: policy.concurrency: found 4, expected 1 to 3, env.openenv.sessions x servers (an episode that waits for a place spends its own time on it)"},
		{openenv + "url: 'http://me:secret@a'}}", "run.yaml:2:36: env.openenv.url: found a text of 18 characters that may be a key (not repeated here), expected http"},
		{openenv + "header_env: sk-abcdefgh}}", "env.openenv.header_env: found a value that is not repeated here"},
		{"name: a\nenv: {use: orders, openenv: {sessions: 1}}", "run.yaml:2:29: env.openenv: found env.openenv, expected no such key without use: openenv"},
		{code + "sandbox: bubblewrap, see: '/opt/venv, /srv'}}", ""},
		{code + "sandbox: container, image: 'python:3.13-slim', runtime: docker}}", ""},
		{code + "sandbox: container}}", "env.code.image: found no env.code.image, expected the image that programs run in, such as python:3.13-slim"},
		{code + "processes: 4}}", "env.code.processes: found env.code.processes, expected no such key with sandbox: micropython"},
		{code + "sandbox: bubblewrap, image: a}}", "env.code.image: found env.code.image, expected no such key with sandbox: bubblewrap"},
		{code + "timeout: 60s}}", ""},
		{code + "timeout: 60s}, episode_timeout: 60s}", "run.yaml:2:34: env.code.timeout: found 1m0s, expected less than env.episode_timeout, 1m0s (or one program takes all of an episode's time)"},
		{code + "sandbox: chroot}}", `env.code.sandbox: found "chroot", expected micropython, bubblewrap or container`},
		{"name: a\nenv: {use: orders, code: {disk_mb: 1}}", "run.yaml:2:26: env.code: found env.code, expected no such key without use: code"},
	} {
		if _, err := Parse("run.yaml", []byte(c.src), kinds); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v\nnot %s", c.src, err, c.want)
		}
	}
	for _, env := range kinds.Envs {
		c, err := Default(env)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse("run.yaml", Commented(c), kinds); err != nil || got != c {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", env, err, got, c)
		}
	}
}
