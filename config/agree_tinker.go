package config

import (
	"strconv"

	"github.com/longhaul-rl/longhaul/rl"
)

// tinker is both who acts and what an update is made with.
const tinker = "tinker"

// fitTinker fills in what a Tinker service needs to know, and takes away what it cannot do.
func fitTinker(c *rl.Config, given func(path string) bool) {
	u := &c.Update
	if u.Use != tinker {
		return
	}
	for path, set := range map[string]func(){
		"update.lora_rank":      func() { u.LoRARank = 32 },
		"update.tinker.reduces": func() { u.Tinker.Reduces = "sequence_mean" },
		"update.max_grad_norm":  func() { u.MaxGradNorm = 0 },
		"update.weight_decay":   func() { u.WeightDecay = 0 }, // SkyRL's would take from the other adapters in its memory, too
	} {
		if !given(path) {
			set()
		}
	}
}

func tinkerTogether(c rl.Config) (wrong, bool) {
	if c.Update.Use == tinker && c.Policy.Use != tinker {
		return disagree(quoted(c.Update.Use), "policy.use: tinker with it", "the service that trains the policy also serves it", "update.use", "policy.use"), false
	}
	return disagree(quoted(c.Update.Use), "tinker with policy.use: tinker", "no other job reaches weights that the service holds", "update.use", "policy.use"),
		c.Policy.Use != tinker || c.Update.Use == tinker || c.Updates == 0 || c.Update.Use == "embedded" // which is complained about elsewhere
}

func tinkerRank(c rl.Config) (wrong, bool) {
	return disagree("no update.lora_rank", "a rank", "a Tinker service trains adapters", "update.lora_rank", "update.use"), c.Update.LoRARank > 0 || c.Update.Use != tinker
}

func tinkerAlone(c rl.Config) (wrong, bool) {
	return disagree("update.tinker.reduces", "no such key without use: tinker", "", "update.tinker.reduces", "update.use"),
		(c.Update.Tinker.Reduces != "") == (c.Update.Use == tinker)
}

func tinkerLoss(c rl.Config) (wrong, bool) {
	return disagree(quoted(c.Loss.Use), "ppo or cispo with update.use: tinker", "the service knows no other of the policy losses", "loss.use", "update.use"),
		c.Update.Use != tinker || c.Loss.Use == "ppo" || c.Loss.Use == "cispo"
}

// tinkerExtras are what is added to a loss here and cannot be there.
func tinkerExtras(c rl.Config) (wrong, bool) {
	l := c.Loss
	for _, d := range []struct {
		key   string
		value float64
	}{{"ratio_cap", l.RatioCap}, {"mismatch_cap", l.MismatchCap}, {"off_policy_mask", l.OffPolicyMask}, {"kl_coef", l.KLCoef}, {"entropy_coef", l.EntropyCoef}} {
		if c.Update.Use == tinker && d.value != 0 {
			return disagree(decimal(d.value), "0 with update.use: tinker", "the service computes the loss, and has no such part", "loss."+d.key, "update.use"), false
		}
	}
	return wrong{}, true
}

func tinkerNorm(c rl.Config) (wrong, bool) {
	if c.Update.Use == tinker {
		return disagree(decimal(c.Update.MaxGradNorm), "0 with update.use: tinker", "the service's optim_step scales no gradient down", "update.max_grad_norm", "update.use"), c.Update.MaxGradNorm == 0
	}
	return wrong{}, true
}

func tinkerTemperature(c rl.Config) (wrong, bool) {
	return disagree(strconv.FormatFloat(c.Sampling.Temperature, 'g', -1, 64), "1 with update.use: tinker", "its log-probabilities are those of temperature 1", "sampling.temperature", "update.use"),
		c.Update.Use != tinker || c.Updates == 0 || c.Sampling.Temperature == 1
}
