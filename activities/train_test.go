package activities

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// tuned is a configuration on a small policy, with a loss.
func tuned(t *testing.T, change func(*rl.Config)) rl.Config {
	t.Helper()
	cfg, err := config.Default("orders")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Name, cfg.Sampling.Temperature, cfg.Update.KLStop = run, .9, 0
	change(&cfg)
	return cfg
}

// aPolicy is a small policy whose optimiser has made two steps already.
func aPolicy(t *testing.T, seed int64) *nn.Trainer {
	t.Helper()
	trainer := nn.NewTrainer(nn.New(nn.Config{V: tiny.Vocab, D: 64, L: 2, F: 96, Ctx: 64}, seed), 2)
	for i := range 2 {
		var rows []*nn.Example
		for _, s := range aBatch(uint64(seed)+uint64(i), nil, t).Samples {
			e := tiny.Example(s)
			e.SFT = true
			rows = append(rows, e)
		}
		if _, err := trainer.Update(rows); err != nil {
			t.Fatal(err)
		}
	}
	return trainer
}

// aBatch is eight rows, one of them wholly masked, with log-probabilities about those of a model where there is one.
func aBatch(seed uint64, model *nn.Model, t *testing.T) (batch rl.Batch) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range 8 {
		s := rl.Sample{Episode: rl.EpisodeID{Run: run, Update: 1, Task: rl.TaskID(fmt.Sprint("train-", i)), Member: 0}}
		advantage := float32(r.NormFloat64())
		for j := range 20 + 5*i {
			trained := i != 5 && j > 5 && j%4 != 0
			s.Tokens, s.LossMask = append(s.Tokens, r.Int32N(tiny.Vocab)), append(s.LossMask, trained)
			s.LogProbs = append(s.LogProbs, float32(.15*r.NormFloat64()))
			s.Advantages = append(s.Advantages, 0)
			if trained {
				s.Advantages[j] = advantage
			} else {
				s.LogProbs[j] = float32(math.NaN())
			}
		}
		if model != nil {
			e := tiny.Example(s)
			own, err := model.Score([]*nn.Example{e}, .9, 1)
			if err != nil {
				t.Fatal(err)
			}
			for j := range own[0] {
				s.LogProbs[j] += own[0][j]
			}
		}
		batch.Samples = append(batch.Samples, s)
	}
	return batch
}

// published stores a policy as version n of a run.
func published(t *testing.T, b *bench, run rl.RunID, n rl.UpdateNumber, trainer *nn.Trainer) rl.Ref {
	t.Helper()
	files, formats, err := tiny.EncodeFiles(trainer)
	if err != nil {
		t.Fatal(err)
	}
	c := rl.Checkpoint{Schema: rl.CheckpointSchema, Run: run, Update: n, Version: rl.VersionOf(run, n), Formats: formats}
	for name, content := range files {
		f, err := b.store.PutFile(t.Context(), name, content)
		if err != nil {
			t.Fatal(err)
		}
		c.Files = append(c.Files, f)
	}
	ref, err := b.store.PutCheckpoint(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// variants are losses that between them use every key.
var variants = []struct {
	name   string
	change func(*rl.LossConfig)
}{
	{"ppo", func(*rl.LossConfig) {}},
	{"ppo with a cap, sequence mean", func(l *rl.LossConfig) { l.RatioCap, l.Reduction = 1.3, "sequence_mean" }},
	{"dr_grpo", func(l *rl.LossConfig) { l.ClipHigh, l.Reduction = .2, "constant" }},
	{"dr_grpo, length 30", func(l *rl.LossConfig) { l.Reduction, l.Length = "constant", 30 }},
	{"dapo", func(l *rl.LossConfig) { l.Reduction = "global_token_mean" }},
	{"cispo", func(l *rl.LossConfig) { l.Use, l.ClipLow, l.ClipHigh = "cispo", 1, 4 }},
	{"cispo on both sides", func(l *rl.LossConfig) { l.Use, l.ClipLow, l.ClipHigh = "cispo", .05, .05 }},
	{"gspo", func(l *rl.LossConfig) { l.Use, l.ClipLow, l.ClipHigh, l.Reduction = "gspo", .02, .03, "sequence_mean" }},
	{"sapo", func(l *rl.LossConfig) { l.Use, l.Reduction = "sapo", "sequence_mean" }},
	{"mismatch weights", func(l *rl.LossConfig) { l.MismatchCap = 1.1 }},
	{"off-policy mask", func(l *rl.LossConfig) { l.OffPolicyMask = .01 }},
	{"k3 in the loss", func(l *rl.LossConfig) { l.KLCoef = .2 }},
	{"k2 in the loss, entropy", func(l *rl.LossConfig) { l.KLCoef, l.KL, l.EntropyCoef = .2, "k2", .05 }},
	{"k1 in the reward", func(l *rl.LossConfig) { l.KLCoef, l.KL, l.KLIn = .2, "k1", "reward" }},
	{"all at once", func(l *rl.LossConfig) {
		l.Use, l.ClipLow, l.ClipHigh, l.Reduction = "gspo", .02, .03, "global_token_mean"
		l.MismatchCap, l.OffPolicyMask, l.KLCoef, l.EntropyCoef = 2, .01, .1, .01
	}},
}

// spec is the second update of a stored run on a batch, which it stores by its hash: there may be several.
func spec(t *testing.T, b *bench, base rl.Ref, batch rl.Batch) rl.UpdateSpec {
	t.Helper()
	body := store.EncodeBatch(batch)
	ref, err := b.store.Put(t.Context(), store.RunPrefix(run)+"batches/"+store.SHA256(body), body)
	if err != nil {
		t.Fatal(err)
	}
	return rl.UpdateSpec{Run: run, Update: 1, Base: &base, Batch: &ref, TrainedTokens: batch.TrainedTokens(), LearningRate: 1e-3, Seed: 5}
}

// train is trainBatch within an activity, where it can tell of its progress.
func train(t *testing.T, b *bench, cfg rl.Config, work rl.UpdateSpec) (trainer *nn.Trainer, m map[string]float64, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	environment := suite.NewTestActivityEnvironment()
	stage := func(ctx context.Context) error {
		trainer, m, err = b.trainBatch(ctx, b.store, cfg, work)
		return nil
	}
	environment.RegisterActivity(stage)
	if _, failed := environment.ExecuteActivity(stage); failed != nil {
		t.Fatal(failed)
	}
	return trainer, m, err
}

// Every loss trains from what is stored and says how it went; the reference is the run's version 0 unless another is
// named, and is not looked for where the KL counts nothing.
func TestUpdateWithEveryLoss(t *testing.T) {
	b := open(t, "a")
	base := aPolicy(t, 1)
	work := spec(t, b, published(t, b, run, 0, base), aBatch(3, base.Model, t))
	hashes := map[string]string{}
	for _, v := range variants {
		cfg := tuned(t, func(c *rl.Config) { v.change(&c.Loss); c.Update.Minibatches = 2 })
		if err := config.Check(cfg, config.Names{}); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		trainer, m, err := train(t, b, cfg, work)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if other := hashes[trainer.Model.Hash()]; other != "" {
			t.Errorf("%s gives the weights of %s", v.name, other)
		}
		hashes[trainer.Model.Hash()] = v.name
		_, compared := m["reference_kl"]
		_, masks := m["off_policy_masked_fraction"]
		if compared != (cfg.Loss.KLCoef > 0) || masks != (cfg.Loss.OffPolicyMask > 0) || m["mismatch_kl"] <= 0 || m["ratio_max"] <= 1 && cfg.Loss.MismatchCap == 0 ||
			m["minibatches"] != 2 || m["tokens"] != float64(work.TrainedTokens) || m["entropy"] <= 0 || m["grad_norm"] <= 0 {
			t.Errorf("%s: %v", v.name, m)
		}
	}
}

func TestReferenceThatIsNotThere(t *testing.T) {
	b := open(t, "a")
	base := aPolicy(t, 1)
	work := spec(t, b, published(t, b, run, 1, base), aBatch(3, base.Model, t))
	for _, reference := range []string{"", "another@000007"} {
		cfg := tuned(t, func(c *rl.Config) { c.Loss.KLCoef, c.Loss.Reference = .1, reference })
		_, _, err := train(t, b, cfg, work)
		if want := "loss.reference " + string(cfg.ReferenceVersion()); rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		cfg.Loss.KLCoef = 0
		if _, _, err := train(t, b, cfg, work); err != nil {
			t.Errorf("without a KL: %v", err)
		}
	}
}

// A reference of the same weights, sampled from, is at no distance: a KL on either side changes nothing at first.
func TestReferenceOfTheSameWeights(t *testing.T) {
	b := open(t, "a")
	base := aPolicy(t, 1)
	work := spec(t, b, published(t, b, run, 0, base), aBatch(3, base.Model, t))
	var hashes []string
	for _, coef := range []float64{0, .5} {
		cfg := tuned(t, func(c *rl.Config) { c.Loss.KLCoef, c.Update.Minibatches = coef, 1 })
		trainer, m, err := train(t, b, cfg, work)
		if err != nil || m["reference_kl"] != 0 {
			t.Fatal(m, err)
		}
		hashes = append(hashes, trainer.Model.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Error("a KL to the policy's own weights moved it")
	}
}

// config, which knows nothing of the embedded policy's code, has its names.
func TestConfigHasTheNamesOfLosses(t *testing.T) {
	for key, names := range map[string][]string{"loss.reduction": nn.Reductions(), "loss.kl": nn.Estimators()} {
		cfg := tuned(t, func(c *rl.Config) { c.Loss.Reduction, c.Loss.KL = "?", "?" })
		last := len(names) - 1
		want := key + `: found "?", expected ` + strings.Join(names[:last], ", ") + " or " + names[last]
		if err := config.Check(cfg, config.Names{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What exp cannot hold is an error, and no number of a result, which is JSON.
func TestMetricsAreFinite(t *testing.T) {
	for _, s := range []nn.Stats{{KL: math.Inf(1)}, {RatioMax: math.Inf(1)}, {Loss: math.NaN()}, {ReferenceKL: math.Inf(1)}} {
		_, err := minibatches(t.Context(), rl.UpdateConfig{Minibatches: 1}, 7, 4, func(int, int) (nn.Stats, error) { return s, nil })
		if rl.KindOf(err) != rl.Invalid || !strings.Contains(err.Error(), "update 7, minibatch 0: ") || !strings.Contains(err.Error(), "different policies") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
