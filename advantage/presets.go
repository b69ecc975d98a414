package advantage

import "github.com/longhaul-rl/longhaul/rl"

// A preset is grpo with what another system has built in, so that its runs can be reproduced by its name. It fixes std,
// epsilon, singleton and zero_variance: those of the configuration are not read. Each was read in the system's own source:
//
//	art       openpipe-art 0.5.18, art/preprocessing/tokenize.py, tokenize_trajectory_groups. A member whose advantage is
//	          exactly 0 is dropped there, also in a group that differs; here it stays, and adds nothing to the gradient.
//	trl       trl 1.16.0, trl/trainer/grpo_trainer.py, scale_rewards "group" with one sum of rewards. There are always two
//	          members or more; one that alone has a reward gets 0, and counts in the loss's divisor there but not here.
//	verl      verl 0.9.1, verl/trainer/ppo/core_algos.py, compute_grpo_outcome_advantage. A lone member's score is
//	          divided by 1 + 1e-6 there.
//	skyrl     skyrl 0.3.0, backends/skyrl_train/utils/ppo_utils.py, compute_grpo_outcome_advantage; zero_variance_filter is
//	          off unless it is asked for. As verl, for both.
//	prime_rl  prime-rl's repository at 10d8af3467181d58f1f665b30f10881c8132cb72 and 039b4009f84aa9996a5cca4ae6ab257de094ff81,
//	          src/prime_rl/orchestrator/algo/grpo.py and advantage.py without a length penalty; its zero_advantage filter, which
//	          is on, leaves out what has no advantage, as with art.
//
// What rounds is longhaul's own throughout: scores within Tolerance are alike, where these systems, but for SkyRL's filter,
// take any difference for one.
var presets = map[string]rl.AdvantageConfig{
	"art":      {Use: "grpo", Std: "population", Epsilon: 1e-6, Singleton: drop, ZeroVariance: drop},
	"trl":      {Use: "grpo", Std: "sample", Epsilon: 1e-4, Singleton: drop, ZeroVariance: keep},
	"verl":     {Use: "grpo", Std: "sample", Epsilon: 1e-6, Singleton: keep, ZeroVariance: keep},
	"skyrl":    {Use: "grpo", Std: "sample", Epsilon: 1e-6, Singleton: keep, ZeroVariance: keep},
	"prime_rl": {Use: "grpo", Std: "none", Singleton: drop, ZeroVariance: drop},
}

// settled is the configuration with a preset's name replaced by what it stands for.
func settled(c rl.AdvantageConfig) rl.AdvantageConfig {
	if p, ok := presets[c.Use]; ok {
		return p
	}
	return c
}
