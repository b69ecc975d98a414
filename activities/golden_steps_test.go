package activities

import (
	"testing"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// golden is an update, to be made by both trainers.
type golden struct {
	name   string
	change func(*rl.Config)
	sft    bool // one step on demonstrations, as in a warm-up
}

// goldens are one optimiser step with every loss, and updates of several steps: the same rows in the same order, and the same
// end.
func goldens() (all []golden) {
	for _, v := range variants {
		all = append(all, golden{name: v.name, change: func(c *rl.Config) { v.change(&c.Loss) }})
	}
	return append(all,
		golden{name: "3 steps", change: func(c *rl.Config) { c.Update.Minibatches = 3 }},
		golden{name: "3 steps, packed rows", change: func(c *rl.Config) { c.Update.Minibatches, c.Update.RowTokens = 3, 100 }},
		golden{name: "stopped by its KL", change: func(c *rl.Config) { c.Update.Minibatches, c.Update.KLStop = 3, 1e-9 }},
		golden{name: "pairs", change: func(c *rl.Config) { c.Loss.Use, c.Loss.Beta, c.Update.Minibatches = preference, .3, 2 }},
		golden{name: "pairs, packed", change: func(c *rl.Config) { c.Loss.Use, c.Loss.Beta, c.Update.RowTokens = preference, .3, 200 }},
		golden{name: "demonstrations", change: func(*rl.Config) {}, sft: true},
	)
}

// imitate makes one step on the rows as demonstrations.
func imitate(t *testing.T, b *bench, cfg rl.Config, work rl.UpdateSpec, batch rl.Batch) (*nn.Trainer, map[string]float64, error) {
	t.Helper()
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
