package activities

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// golden is one optimiser step, to be made by both trainers.
type golden struct {
	name string
	cfg  rl.Config
	job  map[string]any // for golden.py
	ours func() (*nn.Trainer, map[string]float64, error)
}

// policySteps are those of all variants of the loss on one batch.
func policySteps(t *testing.T, b *bench, base rl.Ref, batch rl.Batch, dir string) (steps []golden) {
	t.Helper()
	write(t, filepath.Join(dir, "rows"), store.EncodeBatch(batch))
	work := spec(t, b, base, batch)
	for i, v := range variants {
		cfg := tuned(t, func(c *rl.Config) {
			v.change(&c.Loss)
			c.Update.Minibatches, c.Update.MaxGradNorm = 1, []float64{.01, 1000}[i%2]
		})
		steps = append(steps, golden{v.name, cfg, job(t, cfg, work, "rows"), func() (*nn.Trainer, map[string]float64, error) {
			return train(t, b, cfg, work)
		}})
	}
	return steps
}

// pairStep is preference optimisation on a batch of groups of two, without the row that has nothing to learn.
func pairStep(t *testing.T, b *bench, base rl.Ref, batch rl.Batch, dir string) golden {
	t.Helper()
	batch.Samples = batch.Samples[:4]
	pairs := [][2]int{{0, 1}, {2, 3}}
	for i, p := range pairs {
		one, other := &batch.Samples[p[0]], &batch.Samples[p[1]]
		one.Episode.Task, other.Episode.Task, other.Episode.Member = rl.TaskID(fmt.Sprint("train-", i)), rl.TaskID(fmt.Sprint("train-", i)), 1
		if meanAdvantage(*one) < meanAdvantage(*other) {
			pairs[i] = [2]int{p[1], p[0]}
		}
	}
	write(t, filepath.Join(dir, "pairs"), store.EncodeBatch(batch))
	cfg := tuned(t, func(c *rl.Config) {
		c.Loss.Use, c.Loss.Beta, c.Update.Minibatches, c.Update.MaxGradNorm = preference, .3, 1, 1000
	})
	work := spec(t, b, base, batch)
	s := golden{preference, cfg, job(t, cfg, work, "pairs"), func() (*nn.Trainer, map[string]float64, error) { return train(t, b, cfg, work) }}
	s.job["pairs"] = pairs
	return s
}

// demonstrationStep is one of a warm-up.
func demonstrationStep(t *testing.T, b *bench, base rl.Ref, batch rl.Batch, dir string) golden {
	t.Helper()
	write(t, filepath.Join(dir, "demonstrations"), store.EncodeBatch(batch))
	cfg := tuned(t, func(*rl.Config) {})
	work := spec(t, b, base, batch)
	s := golden{name: "demonstrations", cfg: cfg, job: job(t, cfg, work, "demonstrations")}
	s.job["demonstrations"] = true
	s.ours = func() (*nn.Trainer, map[string]float64, error) {
		trainer, err := b.trainer(t.Context(), b.store, cfg, work)
		if err != nil {
			return nil, nil, err
		}
		var rows []*nn.Example
		for _, row := range batch.Samples {
			e := tiny.Example(row)
			e.SFT = true
			rows = append(rows, e)
		}
		stats, err := trainer.Update(rows)
		m := map[string]float64{}
		learnt{total: stats}.describe(m)
		return trainer, m, err
	}
	return s
}

// job is what golden.py needs of a configuration.
func job(t *testing.T, cfg rl.Config, work rl.UpdateSpec, batch string) map[string]any {
	t.Helper()
	loss := map[string]any{}
	if err := json.Unmarshal(rl.CanonicalJSON(cfg.Loss), &loss); err != nil {
		t.Fatal(err)
	}
	whole := lossOf(cfg, work.TrainedTokens)
	loss["length"], loss["tokens"] = whole.Length, whole.Tokens
	return map[string]any{"batch": batch, "loss": loss, "temperature": cfg.Sampling.Temperature, "optimiser": map[string]any{
		"learning_rate": work.LearningRate, "beta1": cfg.Update.Beta1, "beta2": cfg.Update.Beta2,
		"weight_decay": cfg.Update.WeightDecay, "max_grad_norm": cfg.Update.MaxGradNorm,
	}}
}
