package advantage

import "github.com/longhaul-rl/longhaul/rl"

// A preset is grpo with the divisor and epsilon that another system has built in, so that its runs can be
// reproduced by its name. A preset fixes std and epsilon: those of the configuration are not read.
//
//	art    population, 1e-6   openpipe-art 0.5
//	trl    sample, 1e-4       TRL's GRPOTrainer, scale_rewards "group"
//	verl   sample, 1e-6       verl's grpo with norm_adv_by_std_in_grpo
//
// The rules for groups without relative information stay longhaul's own. verl lets a lone member keep its score as
// its advantage, and all three give scores that differ by rounding alone an advantage; here both are left out.
func init() {
	preset("art", "population", 1e-6)
	preset("trl", "sample", 1e-4)
	preset("verl", "sample", 1e-6)
}

func preset(name, std string, epsilon float64) {
	register(name, func(rl.AdvantageConfig) (Estimator, error) {
		return GRPO(rl.AdvantageConfig{Use: name, Std: std, Epsilon: epsilon})
	})
}
