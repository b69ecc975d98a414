package rollout

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/inprocess"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// taught is a small embedded policy after a small part of the demo's warm-up: it has the form of calls, and little
// else.
var taught = sync.OnceValue(func() *nn.Model {
	m := nn.New(nn.Config{V: tiny.Vocab, D: 32, L: 1, F: 64, Ctx: 160}, 1)
	trainer := nn.NewTrainer(m, 2)
	trainer.LearningRate = 1e-2
	world, err := envs.Get("orders")
	if err != nil {
		panic(err)
	}
	var tools []rl.Tool
	for _, tool := range world.New().Spec().Tools {
		tools = append(tools, tool.Tool)
	}
	for step := range 60 {
		var examples []*nn.Example
		for i := range 16 {
			d, err := world.Demonstrate(context.Background(), uint64(16*step+i))
			if err != nil {
				panic(err)
			}
			examples = append(examples, tiny.EncodeDemonstration(d, tools))
		}
		if _, err := trainer.Update(examples); err != nil {
			panic(err)
		}
	}
	return m
})

// embedded is a client of a fresh embedded server of that policy.
func embedded(t testing.TB, threads int) *policy.Client {
	s := tiny.NewServer(func(context.Context, rl.Version) (*nn.Model, error) { return taught(), nil }, threads)
	t.Cleanup(s.Close)
	return policy.New(policy.Options{URL: "http://policy/v1", Transport: inprocess.Transport{Handler: s}, Splice: true, Concurrency: 16})
}

// embeddedOptions are those of the i-th episode of a test.
func embeddedOptions(w envs.World, i int) Options {
	o := options()
	o.Task = w.Task(rl.Train, i/2) // two of a group
	o.Episode.Task, o.Episode.Member = o.Task.ID, i%2
	o.MaxTokens, o.MaxTurns, o.Seed = 8, 8, rl.Seed(3, "episode", i)
	return o
}

// The embedded policy's episodes are one training row each: its own words come back to it as it said them. The trainer
// gives its tokens the log-probabilities that they were sampled with. And the episodes are the same bytes on any number
// of threads, alone or among others, and from wherever they are resumed.
func TestEmbeddedEpisodes(t *testing.T) {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	const episodes = 24
	first, calls, trainer := make([]*rl.Trajectory, episodes), 0, nn.NewTrainer(taught(), 1)
	for i, p := 0, embedded(t, 1); i < episodes; i++ {
		first[i] = mustRun(t, world.New(), p, embeddedOptions(world, i))
		for _, turn := range first[i].Turns {
			calls += len(turn.Action.Message.ToolCalls)
		}
		samples, why := first[i].Samples()
		if len(samples) != 1 || why != "" {
			t.Fatalf("%d samples, %q", len(samples), why)
		}
		scored, err := trainer.Score([]*nn.Example{tiny.Example(samples[0])})
		if err != nil {
			t.Fatal(err)
		}
		for at, sampled := range samples[0].LossMask {
			if sampled && samples[0].LogProbs[at] != scored[0][at] {
				t.Fatalf("token %d was sampled with %g, and the trainer says %g", at, samples[0].LogProbs[at], scored[0][at])
			}
		}
	}
	if calls < episodes {
		t.Errorf("only %d calls: the policy has not learnt their form", calls)
	}
	p, rng := embedded(t, 2), rand.New(rand.NewPCG(1, 1))
	var wg sync.WaitGroup
	for i := range episodes {
		o := embeddedOptions(world, i)
		o.Recorded = throughJSON(t, recordedOf(first[i].Turns)[:rng.IntN(1+len(first[i].Turns))])
		wg.Go(func() {
			again, err := Run(t.Context(), world.New(), p, o)
			if err != nil || string(rl.CanonicalJSON(again)) != string(rl.CanonicalJSON(first[i])) {
				t.Errorf("episode %d resumed after %d turns: %v\n%s\nis not\n%s", i, len(o.Recorded), err, talk(again), talk(first[i]))
			}
		})
	}
	wg.Wait()
}

// talk is a trajectory as a person reads it.
func talk(t *rl.Trajectory) (out string) {
	if t == nil {
		return ""
	}
	for _, m := range t.Messages() {
		out += fmt.Sprintf("%s: %s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			out += c.Name + string(c.Arguments)
		}
		out += "\n"
	}
	return out
}

// A conversation that outgrows the policy is truncated and scored.
func TestEmbeddedContextLimit(t *testing.T) {
	world, err := envs.Get("orders")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := 0, embedded(t, 1); i < 50; i++ {
		o := embeddedOptions(world, i)
		o.MaxTurns = 100
		if got := mustRun(t, world.New(), p, o); got.Stop == rl.ContextLimit {
			if samples, why := got.Samples(); len(samples) != 1 || why != "" || got.Outcome.Value != 0 {
				t.Errorf("%d samples, %q, %+v", len(samples), why, got.Outcome)
			}
			return
		}
	}
	t.Error("no episode met the limit")
}
