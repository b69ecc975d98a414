// Command tinker shows that updates in a Tinker service are applied once, against a real one: SkyRL on the CPU, killed and
// started again, behind a proxy that loses answers. It is run by scripts/tinker.sh, and prints what was done and measured;
// the first thing that is not as it should be ends it with exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/longhaul-rl/longhaul/tinker"
)

func main() {
	work := flag.String("work", "", "a directory for everything that is written")
	longhaul := flag.String("longhaul", "bin/longhaul", "the binary")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *work, *longhaul); err != nil {
		fmt.Fprintln(os.Stderr, "tinker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, work, longhaul string) error {
	engine, err := newEngine(work)
	if err != nil {
		return err
	}
	defer engine.kill()
	road, err := newRoad(engine)
	if err != nil {
		return err
	}
	if err := updates(ctx, engine, road); err != nil {
		return err
	}
	return train(ctx, work, longhaul, engine, road)
}

// updates makes the same update again and again from the same weights, each time with something else going wrong.
func updates(ctx context.Context, e *engine, r *road) error {
	fmt.Println("one update of two optimiser steps, on a fixed batch")
	client := tinker.New(tinker.Options{URL: r.url, APIKey: "not-a-secret"})
	first, err := updated(ctx, client, "")
	if err != nil {
		return err
	}
	before, err := r.weights(ctx, first)
	if err != nil {
		return err
	}
	var undisturbed weights
	for _, c := range []struct {
		name string
		plan []plan
	}{
		{"undisturbed", nil},
		{"undisturbed, again", nil},
		{"the answer of a forward_backward is lost", []plan{{"forward_backward", 2, lose}}},
		{"the answer of the first optim_step is lost", []plan{{"optim_step", 2, lose}}}, // the first one of all forgets old gradients
		{"the answer of the last optim_step is lost", []plan{{"optim_step", 3, lose}}},
		{"the name to save under is taken", []plan{{"save_weights", 1, repeat}}},
		{"the answer of a save is lost", []plan{{"save_weights", 1, lose}}},
		{"killed after an optim_step was accepted", []plan{{"optim_step", 2, kill}}},
		{"killed while weights are saved", []plan{{"save_weights", 1, kill}}},
	} {
		begun := time.Now()
		r.on(c.plan...)
		saved, err := updated(ctx, client, first.Weights)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if !r.met() {
			return fmt.Errorf("%s: it did not happen", c.name)
		}
		after, err := r.weights(ctx, saved)
		if err != nil {
			return err
		}
		if undisturbed == nil {
			undisturbed = after
			if moved := before.from(after); moved < 1e-4 {
				return fmt.Errorf("the update moved no weight by more than %g: nothing could be told from it", moved)
			}
			fmt.Printf("  it moves weights by up to %.2g\n", before.from(after))
		}
		off := undisturbed.from(after)
		fmt.Printf("  %-44s %3.0f s  %d starts of the engine; off by %.2g\n", c.name, time.Since(begun).Seconds(), e.starts, off)
		if !(off <= 1e-5) {
			return fmt.Errorf("%s: weights are off by %g", c.name, off)
		}
	}
	return nil
}

// updated makes the update, or from no weights the initial adapter. A service that is being started is waited for.
func updated(ctx context.Context, c *tinker.Client, from string) (saved tinker.Saved, err error) {
	u := tinker.Update{Base: tinker.Base{Model: base, Rank: 8, Seed: 1}, From: from, Name: "script-a1"}
	if from != "" {
		u.Train = teach
	}
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		if saved, err = c.Do(ctx, u); err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return saved, err
		}
	}
}

// teach sends two minibatches of four rows.
func teach(ctx context.Context, m *tinker.Model) error {
	for step := range 2 {
		var rows []tinker.Row
		for i := range 4 {
			row := tinker.Row{}
			for t := range 24 {
				sampled := t >= 12
				advantage, logProb := 0.0, float32(0)
				if sampled {
					advantage, logProb = float64(i-1)/2+0.1, -5.7
				}
				row.Inputs, row.Targets = append(row.Inputs, int32(20+i+t)), append(row.Targets, int32(21+i+t))
				row.Mask, row.LogProbs, row.Advantages = append(row.Mask, sampled), append(row.LogProbs, logProb), append(row.Advantages, advantage)
			}
			rows = append(rows, row)
		}
		for _, half := range [][]tinker.Row{rows[:2], rows[2:]} {
			if _, err := m.ForwardBackward(ctx, tinker.Loss{Name: "ppo", Low: 0.2, High: 5}, half); err != nil {
				return err
			}
		}
		if _, err := m.Step(ctx, tinker.Adam{LearningRate: 1e-3 / float64(step+1), Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8}); err != nil {
			return err
		}
	}
	return nil
}

// base is the base model's name, which is its directory.
var base string

func at(work, name string) string { return filepath.Join(work, name) }
