package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The shape of the demo's policy, and a batch like the demo's.
var benchShape = nn.Config{V: tiny.Vocab, D: 96, L: 3, F: 256, Ctx: 256}

const (
	benchRows   = 64 // sequences a batch
	benchLength = 96 // tokens a sequence
	benchLive   = 16 // sequences sampled together, one thread
	benchFor    = 2 * time.Second
)

// benchTiny measures optimiser steps on one thread and on two, and sampling on one.
func benchTiny(ctx context.Context, _ *app) (benchmark, error) {
	b := benchmark{Name: "tiny", Ratios: map[string]float64{}, Figures: map[string]float64{}}
	one, err := trainRate(ctx, 1)
	if err != nil {
		return b, err
	}
	two, err := trainRate(ctx, 2)
	if err != nil {
		return b, err
	}
	b.Figures["train_tokens_per_second_1_thread"], b.Figures["train_tokens_per_second_2_threads"] = one, two
	b.Figures["sample_tokens_per_second_1_thread"] = sampleRate(ctx)
	b.Ratios["train, 2 threads over 1"] = two / one
	b.Ratios["sample over train, 1 thread"] = b.Figures["sample_tokens_per_second_1_thread"] / one
	return b, ctx.Err()
}

func trainRate(ctx context.Context, threads int) (float64, error) {
	trainer := nn.NewTrainer(nn.New(benchShape, 1), threads)
	rng := rand.New(rand.NewPCG(1, 1))
	rows := make([]*nn.Example, benchRows)
	for i := range rows {
		e := &nn.Example{}
		for t := range benchLength {
			e.Tokens = append(e.Tokens, rng.Int32N(int32(benchShape.V)))
			e.LossMask = append(e.LossMask, t%4 == 3)
			e.LogProbs = append(e.LogProbs, -6)
			e.Advantages = append(e.Advantages, float32(i%2*2-1))
		}
		rows[i] = e
	}
	tokens, start := 0, time.Now()
	for time.Since(start) < benchFor && ctx.Err() == nil {
		if _, err := trainer.Update(rows); err != nil {
			return 0, err
		}
		tokens += benchRows * benchLength
	}
	return float64(tokens) / time.Since(start).Seconds(), nil
}

func sampleRate(ctx context.Context) float64 {
	model := nn.New(benchShape, 1)
	runner := model.NewRunner()
	var scratch []float32
	rng := rand.New(rand.NewPCG(1, 1))
	tokens, start := 0, time.Now()
	for time.Since(start) < benchFor && ctx.Err() == nil {
		seqs, next := make([]*nn.Seq, benchLive), make([][]int32, benchLive)
		for i := range seqs {
			seqs[i], next[i] = model.NewSeq(), []int32{int32(i)}
		}
		for range benchLength {
			logits := runner.Forward(seqs, next)
			for i := range next {
				next[i][0], _ = nn.Draw(logits[i*model.V:(i+1)*model.V], 1, rng.Float64(), &scratch)
			}
			tokens += benchLive
		}
	}
	return float64(tokens) / time.Since(start).Seconds()
}
