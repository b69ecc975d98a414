package config

import "github.com/longhaul-rl/longhaul/rl"

// contributions: without a judge that is asked for them, cw_grpo would be grpo and not say so.
func contributions(c rl.Config) (wrong, bool) {
	if c.Advantage.Use != "cw_grpo" {
		return wrong{}, true
	}
	return disagree(quoted(c.Advantage.Use), "reward: {use: judge, per_turn: asked}", "its turns are weighed by what the judge says that each contributed", "advantage.use", "reward.per_turn", "reward.use"),
		c.Reward.Use == "judge" && c.Reward.PerTurn == "asked"
}

// rewardsOnce: the estimators that take the rewards by turn from the trajectory must not find them in the score again.
func rewardsOnce(c rl.Config) (wrong, bool) {
	byTurns := c.Advantage.Use == "returns" || c.Advantage.Use == "gigpo"
	return disagree(quoted(c.Advantage.Use), "a score without reward turns", "it adds what the environment gave turn by turn to the score itself", "advantage.use", "reward.add.turns", "reward.use"),
		!byTurns || c.Reward.Use != "turns" && c.Reward.Add.Turns == 0
}
