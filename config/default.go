package config

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Default is the config of a run in an environment, everything filled in; recipe says with what. Errors: Invalid when
// no environment is named.
func Default(env string) (rl.Config, error) {
	if env == "" {
		return rl.Config{}, rl.Errorf(rl.Invalid, "env.use", "no environment is named")
	}
	c := recipe(env)
	fit(&c, func(string) bool { return false })
	return c, nil
}

// recipe is the config of a run in an environment: the recipe of the demo, on which the embedded policy learns `orders` reliably
// (docs/results.md, on fresh seeds). For another environment it is a start to work from; nothing is shown to the policy there, unless
// suits says so.
func recipe(env string) rl.Config {
	c := rl.Config{
		Name: "run-1",
		Env: rl.EnvConfig{
			Use:            env,
			Tasks:          rl.TasksConfig{Train: rl.TaskRange{First: 0, Last: 9999}, Eval: rl.TaskRange{First: 100_000, Last: 100_199}},
			MaxTurns:       10,
			EpisodeTimeout: rl.Duration(30 * time.Minute),
			TurnTimeout:    rl.Duration(60 * time.Second),
		},
		Policy:    rl.PolicyConfig{Use: "tiny", Width: 96, Layers: 3, Hidden: 256, Context: 256},
		WarmUp:    rl.WarmUpConfig{Gate: 0.97, Extra: 700, Max: 1300, Batch: 32, LearningRate: 2e-3},
		Sampling:  rl.SamplingConfig{Temperature: 1, MaxTokens: 8, Seed: 1},
		Group:     rl.GroupConfig{Size: 8, PerUpdate: 128, PerActivity: 8, Quorum: 0.75, Valid: 0.5, Resample: 2, MaxStaleness: 1},
		Reward:    rl.RewardConfig{Use: "exact", DeadBand: 1.5},
		Advantage: rl.AdvantageConfig{Use: "grpo", Std: "population", Epsilon: 1e-4, Singleton: "drop", ZeroVariance: "drop", Gamma: 1, StepWeight: 1},
		Loss:      rl.LossConfig{Use: "ppo", ClipLow: 0.2, ClipHigh: 0.28, TauPositive: 1, TauNegative: 1.05, Reduction: "token_mean", KL: "k3", KLIn: "loss"},
		Update: rl.UpdateConfig{
			Use: "embedded", LearningRate: 5e-4, Minibatches: 8, MaxGradNorm: 1, Beta1: 0.9, Beta2: 0.99,
			WeightDecay: 0.01, Ramp: 3, FinalRate: 0.1, KLStop: 0.03,
		},
		Curriculum:  rl.CurriculumConfig{Visits: 2},
		Updates:     40,
		Eval:        rl.EvalConfig{Every: 10, Tasks: 200, Promote: "success >= best - 0.01"},
		Guard:       rl.GuardConfig{Collapse: 0.5, Retries: 2},
		Checkpoints: rl.CheckpointsConfig{KeepLast: 5, KeepBest: 3},
	}
	if rl.RunID(env + "-1").Valid() {
		c.Name = rl.RunID(env + "-1")
	}
	if env != "orders" {
		c.WarmUp.Max = 0
	}
	if suit := suits[env]; suit != nil {
		suit(&c)
	}
	return c
}

// fit adapts defaults to what the user did say, so that a short file does not contradict itself. given tells which
// keys the user has set; those stay.
func fit(c *rl.Config, given func(path string) bool) {
	fitPolicy(c, given)
	fitServed(&c.Policy, given)
	fitOpenEnv(c, given)
	fitCode(c, given)
	fitProcess(c, given)
	if !given("group.per_activity") {
		c.Group.PerActivity = max(1, c.Group.Size)
	}
	lower := func(path string, v *int, most int) {
		if !given(path) && most > 0 {
			*v = min(*v, most)
		}
	}
	fitJudge(&c.Reward, given)
	fitAdvantage(c, given)
	fitJob(&c.Update, given)
	fitTinker(c, given)
	fitClusters(&c.Update, given)
	fitMCP(&c.Env, given)
	fitAgent(&c.Env, given)
	fitPlaces(c, given)
	lower("group.per_update", &c.Group.PerUpdate, c.Env.Tasks.Train.Len())
	lower("update.minibatches", &c.Update.Minibatches, c.Group.Size*c.Group.PerUpdate)
	lower("eval.tasks", &c.Eval.Tasks, c.Env.Tasks.Eval.Len())
	lower("sampling.max_tokens", &c.Sampling.MaxTokens, c.Policy.Context-1)
	if !given("env.turn_timeout") {
		c.Env.TurnTimeout = min(c.Env.TurnTimeout, c.Env.EpisodeTimeout/2)
	}
	fitLoss(&c.Loss, given)
	fitTorch(c, given)
}

// fitLoss gives a loss the clip range and the reduction of the paper it comes from.
func fitLoss(l *rl.LossConfig, given func(path string) bool) {
	low, high, reduction := l.ClipLow, l.ClipHigh, l.Reduction
	switch l.Use {
	case "cispo": // arXiv 2506.13585 caps the ratio above alone; TRL's and ART's cap is 5
		low, high = 1, 4
	case "gspo": // arXiv 2507.18071, section 5.1
		low, high, reduction = 3e-4, 4e-4, "sequence_mean"
	case "sapo": // arXiv 2511.20347
		reduction = "sequence_mean"
	case "dpo": // arXiv 2305.18290, section 6
		if !given("loss.beta") {
			l.Beta = .1
		}
	}
	if !given("loss.clip_low") {
		l.ClipLow = low
	}
	if !given("loss.clip_high") {
		l.ClipHigh = high
	}
	if !given("loss.reduction") {
		l.Reduction = reduction
	}
}

// fitJudge fills in the judge's settings, where one takes part.
func fitJudge(r *rl.RewardConfig, given func(path string) bool) {
	if !r.Judges() {
		return
	}
	for path, set := range map[string]func(){
		"passes":       func() { r.Passes = 2 },
		"order":        func() { r.Order = "shuffled" },
		"ties":         func() { r.Ties = "allowed" },
		"per_turn":     func() { r.PerTurn = "off" },
		"result_chars": func() { r.ResultChars = 4000 },
		"context":      func() { r.Context = 128_000 },
		"reply_tokens": func() { r.ReplyTokens = 8192 },
		"timeout":      func() { r.Timeout = rl.Duration(5 * time.Minute) },
		"concurrency":  func() { r.Concurrency = 16 },
	} {
		if !given("reward." + path) {
			set()
		}
	}
	if r.Passes < 2 && !given("reward.dead_band") {
		r.DeadBand = 0
	}
}

// fitAdvantage gives an estimator what it is meant to have.
func fitAdvantage(c *rl.Config, given func(path string) bool) {
	if c.Advantage.Use == "gigpo" && !given("advantage.gamma") { // as in its paper, arXiv 2505.10978
		c.Advantage.Gamma = 0.95
	}
	if c.Advantage.Use == "cw_grpo" && c.Reward.Judges() && !given("reward.per_turn") {
		c.Reward.PerTurn = "asked"
	}
}

// fitPolicy takes away from a served policy what only the embedded one has.
func fitPolicy(c *rl.Config, given func(path string) bool) {
	if c.Policy.Use == "tiny" {
		return
	}
	for path, v := range map[string]*int{
		"policy.width": &c.Policy.Width, "policy.layers": &c.Policy.Layers, "policy.hidden": &c.Policy.Hidden,
		"policy.context": &c.Policy.Context, "warm_up.max": &c.WarmUp.Max,
	} {
		if !given(path) {
			*v = 0
		}
	}
	if !given("sampling.max_tokens") {
		c.Sampling.MaxTokens = 1024
	}
}
