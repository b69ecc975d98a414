package activities

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// trainBatch makes update.minibatches optimiser steps over the shuffled batch. Once a minibatch's KL to the
// behaviour policy passes update.kl_stop the rest of the batch is counted as consumed but not learnt from.
func (a *Activities) trainBatch(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec) (*nn.Trainer, map[string]float64, error) {
	trainer, err := a.trainer(ctx, st, cfg, spec)
	if err != nil {
		return nil, nil, err
	}
	b, err := st.GetRef(ctx, *spec.Batch)
	if err != nil {
		return nil, nil, err
	}
	batch, err := store.DecodeBatch(b)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]*nn.Example, len(batch.Samples))
	for i, s := range batch.Samples {
		rows[i] = tiny.Example(s)
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 1))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	trainer.Loss = lossOf(cfg, batch.TrainedTokens())
	if err := a.prepare(ctx, st, cfg, trainer, rows); err != nil {
		return nil, nil, err
	}
	m, err := minibatches(ctx, cfg.Update, spec.Update, trainer, rows)
	if err != nil {
		return nil, nil, err
	}
	m["tokens"] = float64(batch.TrainedTokens())
	return trainer, m, nil
}

// trainer reads the policy and the optimiser that the spec starts from.
func (a *Activities) trainer(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec) (*nn.Trainer, error) {
	ckpt, err := st.Checkpoint(ctx, *spec.Base)
	if err != nil {
		return nil, err
	}
	files, err := readFiles(ctx, st, ckpt, append(slices.Clone(tiny.ModelFiles), tiny.OptimizerFile))
	if err != nil {
		return nil, err
	}
	t, err := tiny.DecodeTrainer(files, a.threads())
	if err != nil {
		return nil, err
	}
	u := cfg.Update
	t.LearningRate, t.Beta1, t.Beta2 = spec.LearningRate, u.Beta1, u.Beta2
	t.WeightDecay, t.MaxGradNorm = u.WeightDecay, u.MaxGradNorm
	t.Temperature = cfg.Sampling.Temperature
	return t, nil
}

// lossOf is the configured loss, for an update on so many trained tokens.
func lossOf(cfg rl.Config, tokens int) nn.Loss {
	l := cfg.Loss
	loss := nn.Loss{
		Kind: l.Use, ClipLow: l.ClipLow, ClipHigh: l.ClipHigh, RatioCap: l.RatioCap, TauPositive: l.TauPositive, TauNegative: l.TauNegative,
		OffPolicyMask: l.OffPolicyMask, MismatchCap: l.MismatchCap, KL: l.KL, EntropyCoef: l.EntropyCoef,
		Reduction: l.Reduction, Length: l.Length, Tokens: float64(tokens) / float64(max(1, cfg.Update.Minibatches)),
	}
	if l.KLIn != "reward" {
		loss.KLCoef = l.KLCoef
	}
	if l.Length == 0 {
		loss.Length = cfg.Env.MaxTurns * cfg.Sampling.MaxTokens
	}
	return loss
}

// prepare computes what the loss needs under policies that do not move while the update goes on: the one that it starts
// from, and the reference.
func (a *Activities) prepare(ctx context.Context, st *store.Store, cfg rl.Config, trainer *nn.Trainer, rows []*nn.Example) error {
	if cfg.Loss.MismatchCap > 0 {
		err := a.score(ctx, trainer.Model, trainer.Temperature, rows, func(e *nn.Example, p []float32) { e.Old = p })
		if err != nil {
			return err
		}
	}
	reference := cfg.ReferenceVersion()
	if reference == "" {
		return nil
	}
	model, err := loadModel(ctx, st, reference)
	switch rl.KindOf(err) {
	case rl.NotFound, rl.Corrupt: // going back to an older checkpoint, as is done where the base is lost, would mend nothing
		return rl.Errorf(rl.Invalid, "loss.reference "+string(reference), "%w", err)
	}
	if err != nil {
		return err
	}
	err = a.score(ctx, model, trainer.Temperature, rows, func(e *nn.Example, p []float32) { e.Reference = p })
	if err == nil && cfg.Loss.KLIn == "reward" {
		nn.PenaliseAdvantages(rows, cfg.Loss.KL, cfg.Loss.KLCoef)
	}
	return err
}

// scored is how many rows are scored between two looks at whether the stage is still wanted.
const scored = 128

// score hands out each row's log-probabilities under a model.
func (a *Activities) score(ctx context.Context, model *nn.Model, temperature float64, rows []*nn.Example, give func(*nn.Example, []float32)) error {
	for part := range slices.Chunk(rows, scored) {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := model.Score(part, temperature, a.threads())
		if err != nil {
			return rl.Errorf(rl.Invalid, "log-probabilities", "%w", err)
		}
		for i, e := range part {
			give(e, found[i])
		}
	}
	return nil
}

// minibatches makes the optimiser steps and returns the update's metrics.
func minibatches(ctx context.Context, u rl.UpdateConfig, n rl.UpdateNumber, trainer *nn.Trainer, rows []*nn.Example) (map[string]float64, error) {
	var total, first nn.Stats
	steps := 0
	for i := range u.Minibatches {
		lo, hi := i*len(rows)/u.Minibatches, (i+1)*len(rows)/u.Minibatches
		if lo == hi {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := trainer.Update(rows[lo:hi])
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, fmt.Sprintf("update %d, minibatch %d", n, i), "%w", err)
		}
		if steps == 0 {
			first = s
		}
		total.Add(s)
		steps++
		tell(ctx, Progress{What: "minibatches", Done: i + 1, Total: u.Minibatches})
		if u.KLStop > 0 && s.KL > u.KLStop*float64(s.Tokens) {
			break
		}
	}
	m := metrics(total)
	m["minibatches"] = float64(steps)
	m["ratio_max"] = total.RatioMax
	// Before its first step the trainer has the weights that it was given: what the KL is then, the engine is to blame
	// for, and the versions that stale rows lag behind.
	m["mismatch_kl"] = first.KL / float64(max(1, first.Tokens))
	if trainer.Loss.OffPolicyMask > 0 {
		m["off_policy_masked_fraction"] = float64(total.OffPolicy) / float64(max(1, total.Tokens))
	}
	if len(rows) > 0 && rows[0].Reference != nil {
		m["reference_kl"] = total.ReferenceKL / float64(max(1, total.Tokens))
	}
	return m, nil
}

// metrics are a step's or an update's statistics, by the token where that makes sense.
func metrics(s nn.Stats) map[string]float64 {
	n := float64(max(1, s.Tokens))
	return map[string]float64{
		"loss": s.Loss / n, "kl": s.KL / n, "entropy": s.Entropy / n, "grad_norm": s.GradNorm,
		"clip_fraction": float64(s.ClippedLow+s.ClippedHigh) / n, "clip_low_fraction": float64(s.ClippedLow) / n, "clip_high_fraction": float64(s.ClippedHigh) / n,
	}
}
