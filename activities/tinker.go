package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tinker"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// tinkered is the update.use of a service that holds the weights. There is no process to launch: the job is a conversation,
// and this stage has it.
const tinkered = "tinker"

// service is the client of a run's Tinker service.
func (a *Activities) service(ctx context.Context, cfg rl.Config) (*tinker.Client, error) {
	return cached(ctx, a, &a.services, cfg.Policy.URL+" "+cfg.Policy.APIKeyEnv, func() (*tinker.Client, error) {
		key, err := a.key("policy.api_key_env", cfg.Policy.APIKeyEnv)
		return tinker.New(tinker.Options{URL: cfg.Policy.URL, APIKey: key}), err
	})
}

// trainTinker does the work of a spec in a Tinker service, which keeps what it saves under names that begin with name. Its result names where the service keeps the weights.
func (a *Activities) trainTinker(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, name string) (rl.UpdateResult, error) {
	result := rl.UpdateResult{Schema: rl.UpdateResultSchema, Metrics: map[string]float64{}}
	client, err := a.service(ctx, cfg)
	if err != nil {
		return result, err
	}
	u := tinker.Update{
		Base: tinker.Base{Model: cfg.Policy.Model, Rank: cfg.Update.LoRARank, Seed: rl.Seed(cfg.Sampling.Seed, "adapter")},
		Name: fmt.Sprintf("%s-a%d", name, activity.GetInfo(ctx).Attempt),
		Again: func(try int, why error) {
			a.log().Warn("the update is begun again from its base checkpoint", "run", spec.Run, "update", spec.Update, "try", try, "why", why)
		},
	}
	var tokenizer rl.File
	if spec.Base == nil {
		tokenizer, err = a.keepTokenizer(ctx, st, cfg)
	} else {
		tokenizer, err = a.goOn(ctx, st, cfg, spec, &u, &result)
	}
	if err != nil {
		return result, err
	}
	saved, err := client.Do(ctx, u)
	if err != nil {
		return result, err
	}
	return result, a.keepTinker(ctx, st, client, tinker.Checkpoint{Base: u.Base, Saved: saved}, tokenizer, &result)
}

// keepTinker stores what of a policy comes to the store: its adapter, the tokenizer, and the names by which the service has it,
// its optimiser's state included.
func (a *Activities) keepTinker(ctx context.Context, st *store.Store, client *tinker.Client, c tinker.Checkpoint, tokenizer rl.File, result *rl.UpdateResult) error {
	f, err := st.PutFile(ctx, tinker.CheckpointFile, c.Encode())
	if err != nil {
		return err
	}
	result.Files, result.Tokenizer = []rl.File{f, tokenizer}, tokenizer.SHA256
	result.Formats = map[string]string{f.Name: tinker.CheckpointFormat, tokenizer.Name: "json/tokenizers"}
	err = client.Adapter(ctx, c.Sampler, func(name string, r io.Reader) error {
		f, err := putStream(ctx, st, name, r)
		result.Files, result.Formats[name] = append(result.Files, f), "peft"
		return err
	})
	slices.SortFunc(result.Files, func(a, b rl.File) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// putStream stores what can be read once, by way of a temporary file: it need not fit in memory.
func putStream(ctx context.Context, st *store.Store, name string, r io.Reader) (f rl.File, err error) {
	spool, err := os.CreateTemp("", "longhaul-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	size, err := io.Copy(spool, r)
	if err != nil {
		return f, err
	}
	return st.PutFrom(ctx, name, spool, size)
}

// goOn makes of u the update of a spec with a base: where its weights are, and what is sent. It gives the base's tokenizer.
func (a *Activities) goOn(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, u *tinker.Update, result *rl.UpdateResult) (rl.File, error) {
	base, err := st.Checkpoint(ctx, *spec.Base)
	if err != nil {
		return rl.File{}, err
	}
	from, err := tinkerCheckpoint(ctx, st, base)
	if err != nil {
		return rl.File{}, err
	}
	if from.Model != u.Base.Model || from.Rank != u.Base.Rank {
		return rl.File{}, rl.Errorf(rl.Invalid, "policy.model", "the run's checkpoint is of %s with rank %d, its configuration of %s with rank %d", from.Model, from.Rank, u.Base.Model, u.Base.Rank)
	}
	b, err := st.GetRef(ctx, *spec.Batch)
	if err != nil {
		return rl.File{}, err
	}
	batch, err := store.DecodeBatch(b)
	if err != nil {
		return rl.File{}, err
	}
	rng := rand.New(rand.NewPCG(spec.Seed, 1))
	rng.Shuffle(len(batch.Samples), func(i, j int) { batch.Samples[i], batch.Samples[j] = batch.Samples[j], batch.Samples[i] })
	lesson := lesson{update: cfg.Update, loss: lossOf(cfg, batch.TrainedTokens()), rate: spec.LearningRate}
	for _, s := range batch.Samples {
		if s.LossMask[0] {
			return rl.File{}, rl.Errorf(rl.Invalid, "batch", "the first token of a row of %s is trained on, and follows nothing", s.Episode)
		}
		lesson.rows = append(lesson.rows, tinker.Shifted(s))
	}
	u.From = from.Weights
	u.Train = func(ctx context.Context, m *tinker.Model) error {
		began := time.Now()
		var failed error // as it is: minibatches takes a step that fails for one that always will
		l, err := minibatches(ctx, cfg.Update, spec.Update, len(lesson.rows), func(from, to int) (stats nn.Stats, err error) {
			stats, failed = lesson.step(ctx, m, from, to)
			return stats, failed
		})
		if failed != nil {
			return failed
		}
		l.describe(result.Metrics)
		l.compare(result.Metrics, cfg.Loss)
		delete(result.Metrics, "entropy") // the service gives the log-probabilities of the targets alone
		result.Seconds = map[string]float64{"train": time.Since(began).Seconds()}
		result.Metrics["minibatches"], result.Metrics["tokens"] = float64(l.steps), float64(batch.TrainedTokens())
		return err
	}
	result.TokensConsumed = batch.TrainedTokens()
	tokenizer, ok := base.File(tiny.TokenizerFile)
	if !ok {
		return rl.File{}, rl.Errorf(rl.Corrupt, "store "+store.CheckpointKey(base.Run, base.Update), "the checkpoint has no %s", tiny.TokenizerFile)
	}
	return tokenizer, nil
}

// tinkerCheckpoint says where a checkpoint's weights are.
func tinkerCheckpoint(ctx context.Context, st *store.Store, c rl.Checkpoint) (tinker.Checkpoint, error) {
	files, err := readFiles(ctx, st, c, []string{tinker.CheckpointFile})
	if err != nil {
		return tinker.Checkpoint{}, err
	}
	return tinker.DecodeCheckpoint(files[tinker.CheckpointFile])
}
