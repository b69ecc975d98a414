package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// The warm-up's own numbers: easy tasks are played every gateEvery supervised updates, and the learning rate
// rises over the first warmUpRamp of them.
const (
	gateEvery  = 20
	gateTasks  = 100
	warmUpRamp = 20
)

// warmUp makes the initial embedded policy: random weights, then supervised updates on fresh demonstrations of
// easy tasks until greedy play solves easy tasks (warm_up.gate) and warm_up.extra more. The optimiser starts
// anew afterwards, since its moments belong to another loss.
func (a *Activities) warmUp(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec) (*nn.Trainer, map[string]float64, error) {
	world, err := a.world(ctx, st, spec.Run, cfg.Env)
	if err != nil {
		return nil, nil, err
	}
	p, w := cfg.Policy, cfg.WarmUp
	shape := nn.Config{V: tiny.Vocab, D: p.Width, L: p.Layers, F: p.Hidden, Ctx: p.Context}
	if err := shape.Check(); err != nil {
		return nil, nil, rl.Errorf(rl.Invalid, "policy", "%w", err)
	}
	model := nn.New(shape, int64(spec.Seed>>1))
	trainer := nn.NewTrainer(model, a.threads())
	var last nn.Stats
	success, left := 0.0, -1
	done := 0
	for ; world.Demonstrate != nil && done < w.Max && left != 0; done++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		rows := make([]*nn.Example, w.Batch)
		tools := toolsOf(world)
		for i := range rows {
			d, err := world.Demonstrate(ctx, rl.Seed(spec.Seed, "demonstration", done*w.Batch+i))
			if err != nil {
				return nil, nil, err
			}
			rows[i] = tiny.EncodeDemonstration(d, tools)
		}
		trainer.LearningRate = w.LearningRate * min(1, float64(done+1)/warmUpRamp)
		if last, err = trainer.Update(rows); err != nil {
			return nil, nil, rl.Errorf(rl.Invalid, fmt.Sprintf("warm-up, batch %d", done), "%w", err)
		}
		switch {
		case left > 0:
			left--
		case (done+1)%gateEvery == 0:
			if success, err = a.playEasy(ctx, cfg, world, model); err != nil {
				return nil, nil, err
			}
			if success >= w.Gate {
				left = w.Extra
			}
		}
		if done%10 == 0 {
			tell(ctx, Progress{What: "demonstration batches", Done: done + 1, Total: w.Max})
		}
	}
	trainer = nn.NewTrainer(model, a.threads())
	m := map[string]float64{}
	learnt{total: last}.describe(m)
	m["warm_up_updates"] = float64(done)
	m["warm_up_success"] = success
	return trainer, m, nil
}

// playEasy is the greedy success on easy tasks, played through the same server, client and loop as everything else.
func (a *Activities) playEasy(ctx context.Context, cfg rl.Config, world envs.World, model *nn.Model) (float64, error) {
	server := tiny.NewServer(func(context.Context, rl.Version) (*nn.Model, error) { return model, nil }, a.threads())
	defer server.Close()
	client := a.tinyClient(server, cfg)
	type result struct {
		hit bool
		err error
	}
	results := make(chan result)
	for i := range gateTasks {
		if world.Count != nil {
			i %= world.Count(rl.WarmUp)
		}
		go func() {
			hit, err := playOne(ctx, cfg, world, client, world.Task(rl.WarmUp, i))
			results <- result{hit, err}
		}()
	}
	hits := 0
	var err error
	for range gateTasks {
		r := <-results
		if r.hit {
			hits++
		}
		if r.err != nil {
			err = r.err
		}
	}
	return float64(hits) / gateTasks, err
}

func playOne(ctx context.Context, cfg rl.Config, world envs.World, client *policy.Client, task rl.Task) (bool, error) {
	env := world.New()
	defer env.Close()
	v := rl.VersionOf(cfg.Name, 0)
	t, err := rollout.Run(ctx, env, client, rollout.Options{
		Episode: rl.EpisodeID{Run: cfg.Name, Task: task.ID}, Task: task, Model: string(v), Version: v,
		MaxTokens: cfg.Sampling.MaxTokens, MaxTurns: cfg.Env.MaxTurns,
		EpisodeTimeout: time.Duration(cfg.Env.EpisodeTimeout), TurnTimeout: time.Duration(cfg.Env.TurnTimeout),
	})
	if _, final := rollout.OwnFailure(err); final { // of a task that is no task for this environment: not solved
		return false, nil
	}
	return err == nil && t.Outcome.Value >= 1, err
}

func toolsOf(world envs.World) (tools []rl.Tool) {
	env := world.New()
	defer env.Close()
	for _, t := range env.Spec().Tools {
		tools = append(tools, t.Tool)
	}
	return tools
}
