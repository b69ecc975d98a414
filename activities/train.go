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
	if err := a.prepare(ctx, st, cfg, trainer, rows); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 1))
	m := map[string]float64{}
	if cfg.Loss.Use == preference {
		pairs := pairsOf(batch.Samples, rows)
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		l, err := minibatches(ctx, cfg.Update, spec.Update, len(pairs), func(from, to int) (nn.Stats, error) {
			return trainer.UpdatePairs(pairs[from:to], nn.DPO{Beta: cfg.Loss.Beta})
		})
		if err != nil {
			return nil, nil, err
		}
		l.describe(m)
		m["pairs"], m["minibatches"] = float64(len(pairs)), float64(l.steps)
	} else {
		trainer.Loss = lossOf(cfg, batch.TrainedTokens())
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		l, err := minibatches(ctx, cfg.Update, spec.Update, len(rows), func(from, to int) (nn.Stats, error) { return trainer.Update(rows[from:to]) })
		if err != nil {
			return nil, nil, err
		}
		l.describe(m)
		l.compare(m, cfg.Loss)
		m["minibatches"] = float64(l.steps)
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

// learnt is what an update's optimiser steps came to.
type learnt struct {
	steps        int
	total, first nn.Stats // of all steps, of the first
}

// minibatches makes the optimiser steps, each on the parts [from, to) of so many.
func minibatches(ctx context.Context, u rl.UpdateConfig, n rl.UpdateNumber, parts int, step func(from, to int) (nn.Stats, error)) (l learnt, err error) {
	for i := range u.Minibatches {
		from, to := i*parts/u.Minibatches, (i+1)*parts/u.Minibatches
		if from == to {
			continue
		}
		if err := ctx.Err(); err != nil {
			return l, err
		}
		s, err := step(from, to)
		if err == nil {
			err = s.Finite()
		}
		if err != nil {
			return l, rl.Errorf(rl.Invalid, fmt.Sprintf("update %d, minibatch %d", n, i), "%w", err)
		}
		if l.steps == 0 {
			l.first = s
		}
		l.total.Add(s)
		l.steps++
		tell(ctx, Progress{What: "minibatches", Done: i + 1, Total: u.Minibatches})
		if u.KLStop > 0 && s.KL > u.KLStop*float64(s.Tokens) {
			break
		}
	}
	return l, nil
}

// describe adds the metrics that every loss has, by the token where that makes sense.
func (l learnt) describe(m map[string]float64) {
	n := float64(max(1, l.total.Tokens))
	m["loss"], m["entropy"], m["grad_norm"] = l.total.Loss/n, l.total.Entropy/n, l.total.GradNorm
}

// compare adds those of losses that hold the policy against the one that sampled, and the reference.
func (l learnt) compare(m map[string]float64, loss rl.LossConfig) {
	s, n := l.total, float64(max(1, l.total.Tokens))
	m["kl"], m["ratio_max"], m["clip_fraction"] = s.KL/n, s.RatioMax, float64(s.ClippedLow+s.ClippedHigh)/n
	m["clip_low_fraction"], m["clip_high_fraction"] = float64(s.ClippedLow)/n, float64(s.ClippedHigh)/n
	// Before its first step the trainer has the weights that it was given: what the KL is then, the engine is to blame
	// for, and the versions that stale rows lag behind.
	m["mismatch_kl"] = l.first.KL / float64(max(1, l.first.Tokens))
	if loss.OffPolicyMask > 0 {
		m["off_policy_masked_fraction"] = float64(s.OffPolicy) / n
	}
	if loss.KLCoef > 0 {
		m["reference_kl"] = s.ReferenceKL / n
	}
}
