package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/longhaul-rl/longhaul/adapter"
)

// config is a run of three updates whose rollouts the service samples. A random model earns nothing at the order desk;
// what tells its episodes apart is how much they say.
const config = `name: tinkered
env: {use: orders, max_turns: 3, episode_timeout: 30m, turn_timeout: 20m}
policy: {use: tinker, url: %q, model: %q, base: %q, api_key_env: TINKER_KEY, concurrency: 16}
sampling: {max_tokens: 24, seed: 7}
group: {size: 4, per_update: 4, valid: 0}
reward: {use: cost}
loss: {use: ppo}
update: {use: tinker, lora_rank: 8, learning_rate: 1e-3, ramp: 0, minibatches: 2, kl_stop: 0}
updates: 3
eval: {every: 0}
`

// train trains the same run twice, once undisturbed, once with the service killed in the middle of an update.
func train(ctx context.Context, work, longhaul string, e *engine, r *road) error {
	fmt.Println("a run of three updates, from rollouts to publication")
	var finals []weights
	for _, c := range []struct {
		name string
		plan []plan
	}{
		{"undisturbed", nil},
		// Of an update's three optim_steps the first only forgets old gradients.
		{"killed in the middle of update 2, an answer lost in update 3", []plan{{"optim_step", 5, kill}, {"optim_step", 5, lose}}},
	} {
		r.on(c.plan...)
		dir := at(work, fmt.Sprintf("run%d", len(finals)+1))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		final, err := trained(ctx, dir, longhaul, r)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if !r.met() {
			return fmt.Errorf("%s: it did not happen", c.name)
		}
		fmt.Printf("  %s: done, after %d starts of the engine\n", c.name, e.starts)
		finals = append(finals, final)
	}
	off := finals[0].from(finals[1])
	fmt.Printf("  the final weights are off by %.2g\n", off)
	if !(off <= 1e-5) {
		return fmt.Errorf("the final weights of the two runs are off by %g", off)
	}
	return nil
}

// trained runs `longhaul train`, shows what it did, and gives the final weights.
func trained(ctx context.Context, dir, longhaul string, r *road) (weights, error) {
	if err := os.WriteFile(at(dir, "run.yaml"), fmt.Appendf(nil, config, r.url, base, base), 0o644); err != nil {
		return nil, err
	}
	do := func(args ...string) ([]byte, error) {
		c := exec.CommandContext(ctx, longhaul, append(args, "--data", at(dir, "data"))...)
		c.Env = append(os.Environ(), "TINKER_KEY=not-a-secret")
		c.Stderr = os.Stderr
		return c.Output()
	}
	out, err := do("train", "-f", at(dir, "run.yaml"), "--json", "--quiet")
	if err != nil {
		return nil, fmt.Errorf("train: %w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var u struct {
			Event   string             `json:"event"`
			Update  int                `json:"update"`
			Turns   int                `json:"turns"`
			Metrics map[string]float64 `json:"metrics"`
		}
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			return nil, err
		}
		if m := u.Metrics; u.Event == "update" {
			fmt.Printf("    update %d: %d turns, %.0f tokens trained in %.0f steps, loss %.6f, kl %.2g, mismatch_kl %.2g, grad_norm %.4f\n",
				u.Update, u.Turns, m["tokens"], m["minibatches"], m["loss"], m["kl"], m["mismatch_kl"], m["grad_norm"])
		}
	}
	for _, args := range [][]string{{"ledger", "tinkered"}, {"verify", "tinkered"}} {
		out, err := do(args...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", args[0], err, out)
		}
		fmt.Print("    ", strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "\n    "), "\n")
	}
	if _, err := do("export", "tinkered", "--out", at(dir, "adapter"), "--adapter"); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	b, err := os.ReadFile(at(dir, "adapter/"+adapter.WeightsFile))
	if err != nil {
		return nil, err
	}
	return decoded(b)
}
