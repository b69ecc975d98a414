package config

import (
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
)

// torch are the update jobs that the trainer in PyTorch does; tinker's engine has an adapter too.
var torch = []string{"local", "kubernetes", "sagemaker"}

// fitTorch fills in the settings of the trainer in PyTorch, where it trains.
func fitTorch(c *rl.Config, given func(path string) bool) {
	u := &c.Update
	if !slices.Contains(torch, u.Use) {
		return
	}
	for path, set := range map[string]func(){
		"precision":              func() { u.Precision = "bfloat16" },
		"gradient_checkpointing": func() { u.Checkpointing = "off" },
		"processes":              func() { u.Processes = 1 },
		"row_tokens":             func() { u.RowTokens = 8192 },
	} {
		if !given("update." + path) {
			set()
		}
	}
	if c.Policy.Use != "tiny" {
		return
	}
	if !given("update.precision") { // it is sampled from in float32, and small
		u.Precision = "float32"
	}
	if !given("update.row_tokens") {
		u.RowTokens = 1024
	}
}

// torchAlone refuses keys of the trainer in PyTorch where another one trains.
func torchAlone(c rl.Config) (wrong, bool) {
	u := c.Update
	jobs, adapters := torch, append(slices.Clone(torch), "tinker")
	for _, k := range []struct {
		key, value string
		set        bool
		users      []string
	}{
		{"lora_rank", fmt.Sprint(u.LoRARank), u.LoRARank != 0, adapters},
		{"lora_alpha", decimal(u.LoRAAlpha), u.LoRAAlpha != 0, jobs}, // a Tinker service has one of its own
		{"precision", quoted(u.Precision), u.Precision != "", jobs},
		{"gradient_checkpointing", quoted(u.Checkpointing), u.Checkpointing != "", jobs},
		{"processes", fmt.Sprint(u.Processes), u.Processes != 0, jobs},
		{"row_tokens", fmt.Sprint(u.RowTokens), u.RowTokens != 0, jobs},
	} {
		if k.set && !slices.Contains(k.users, u.Use) {
			return disagree(k.value, fmt.Sprintf("the key only with use: one of %v", k.users), "", "update."+k.key, "update.use"), false
		}
	}
	return wrong{}, true
}

func adapterServed(c rl.Config) (wrong, bool) {
	return disagree(fmt.Sprint(c.Update.LoRARank), "0 with policy.use: tiny", "the embedded server plays whole models, without adapters",
		"update.lora_rank", "policy.use"), c.Update.LoRARank == 0 || c.Policy.Use != "tiny"
}

// adapterPublished holds what is trained against how servers get it: vLLM loads adapters alone while it serves, and a restart or an
// embedded server takes whole models.
func adapterPublished(c rl.Config) (wrong, bool) {
	how, rank := c.Policy.Publish, c.Update.LoRARank
	if c.Policy.Use != "openai" || c.Updates == 0 || !slices.Contains(torch, c.Update.Use) {
		return wrong{}, true
	}
	if how == "lora" && rank == 0 {
		return disagree("0", "a rank, with policy.publish: lora", "all weights would be trained, and there would be no adapter to publish", "update.lora_rank", "policy.publish"), false
	}
	return disagree(quoted(how), "lora with an update.lora_rank", "an adapter is published as one", "policy.publish", "update.lora_rank"), how == "lora" || rank == 0
}

func adapterScale(c rl.Config) (wrong, bool) {
	return disagree(decimal(c.Update.LoRAAlpha), "0 without an update.lora_rank", "there is no adapter to scale", "update.lora_alpha", "update.lora_rank"),
		c.Update.LoRAAlpha == 0 || c.Update.LoRARank > 0
}
