package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/tiny"
	"github.com/longhaul-rl/longhaul/tiny/nn"
)

// UpdatePolicyIn is the work of one update job. Update 0 has neither base nor batch: it makes the initial policy, or
// takes it from where the run's configuration says.
type UpdatePolicyIn struct {
	Stage
	Base          *rl.Ref      `json:"base,omitempty"`
	Batch         *rl.Ref      `json:"batch,omitempty"`
	Sequences     int          `json:"sequences,omitempty"`
	Tokens        int          `json:"tokens,omitempty"`
	TrainedTokens int          `json:"trained_tokens,omitempty"`
	Versions      []rl.Version `json:"versions,omitempty"`
	Scale         float64      `json:"scale"` // of the learning rate; halved by each collapse
}

// UpdatePolicyOut refers to the result of the job.
type UpdatePolicyOut struct {
	Result       rl.Ref             `json:"result"`
	LearningRate float64            `json:"learning_rate"`
	Metrics      map[string]float64 `json:"metrics"`
}

// UpdatePolicy runs the update job: it trains from the base checkpoint named in its spec, never from "latest", and
// records a result. The job's key is the hash of its spec: asked for twice, it answers with the recorded result.
func (a *Activities) UpdatePolicy(ctx context.Context, in UpdatePolicyIn) (UpdatePolicyOut, error) {
	ctx, stop := telling(ctx)
	defer stop()
	work, cancel := finishing(ctx)
	defer cancel()
	out, err := a.updatePolicy(work, in)
	return out, temporalError(work, err)
}

func (a *Activities) updatePolicy(ctx context.Context, in UpdatePolicyIn) (out UpdatePolicyOut, err error) {
	st, cfg, err := a.open(ctx, in.Stage)
	if err != nil {
		return out, err
	}
	if in.Update == 0 {
		if in.Base, err = start(ctx, st, cfg); err != nil {
			return out, err
		}
	}
	spec := rl.UpdateSpec{
		Schema: rl.UpdateSpecSchema, Run: in.Run, Update: in.Update, Config: in.Config, Base: in.Base, Batch: in.Batch,
		Sequences: in.Sequences, Tokens: in.Tokens, TrainedTokens: in.TrainedTokens, Versions: in.Versions,
		LearningRate: learningRate(cfg, in.Update) * in.Scale, Seed: rl.Seed(cfg.Sampling.Seed, "update", in.Update),
	}
	body := rl.CanonicalJSON(spec)
	sum := sha256.Sum256(body)
	job := hex.EncodeToString(sum[:])
	if _, err := st.PutNew(ctx, store.JobSpecKey(job), body); err != nil {
		return out, err
	}
	ref, result, ok, err := recorded[rl.UpdateResult](ctx, st, store.JobResultKey(job))
	if err != nil {
		return out, err
	}
	if ok { // its files may have been damaged since: then the work is done again, which mends them
		switch err := st.CheckFiles(ctx, result.Files); rl.KindOf(err) {
		case rl.Corrupt, rl.NotFound:
			ok = false
		default:
			if err != nil {
				return out, err
			}
		}
	}
	if !ok {
		if result, err = a.train(ctx, st, cfg, spec, job); err != nil {
			return out, err
		}
		result.Spec = job
		if ref, result, err = st.PutResult(ctx, job, result); err != nil {
			return out, err
		}
	}
	if result.TokensConsumed != spec.TrainedTokens {
		return out, rl.Errorf(rl.Corrupt, "store "+ref.Key, "the job consumed %d tokens of %d", result.TokensConsumed, spec.TrainedTokens)
	}
	return UpdatePolicyOut{Result: ref, LearningRate: spec.LearningRate, Metrics: result.Metrics}, nil
}

// learningRate of update n: rises linearly over update.ramp updates and falls, from the first, by (1 - update.final_rate)
// / updates of itself an update.
func learningRate(cfg rl.Config, n rl.UpdateNumber) float64 {
	u := cfg.Update
	rate := u.LearningRate
	if u.Ramp > 0 {
		rate *= min(1, float64(n)/float64(u.Ramp))
	}
	return rate * (1 - (1-u.FinalRate)*float64(max(n-1, 0))/float64(max(cfg.Updates, 1)))
}

// train does the work of a spec, the job's, in this process or from it.
func (a *Activities) train(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, job string) (rl.UpdateResult, error) {
	var (
		trainer *nn.Trainer
		m       map[string]float64
		err     error
	)
	if spec.Update == 0 && spec.Base != nil {
		return adopt(ctx, st, *spec.Base)
	}
	if cfg.Update.Use == tinkered {
		return a.trainTinker(ctx, st, cfg, spec, job)
	}
	if spec.Base == nil && cfg.Policy.Use != "tiny" {
		return a.importBase(ctx, st, cfg.Policy.Base)
	}
	if spec.Base == nil {
		trainer, m, err = a.warmUp(ctx, cfg, spec)
	} else {
		trainer, m, err = a.trainBatch(ctx, st, cfg, spec)
	}
	if err != nil {
		return rl.UpdateResult{}, err
	}
	result := rl.UpdateResult{Schema: rl.UpdateResultSchema, Metrics: m, TokensConsumed: int(m["tokens"])}
	if spec.Base == nil {
		result.TokensConsumed = 0 // demonstrations are not sampled tokens
	}
	files, formats, err := tiny.EncodeFiles(trainer)
	if err != nil {
		return result, err
	}
	result.Formats = formats
	for name, content := range files {
		f, err := st.PutFile(ctx, name, content)
		if err != nil {
			return result, err
		}
		result.Files = append(result.Files, f)
		if name == tiny.TokenizerFile {
			result.Tokenizer = f.SHA256
		}
	}
	slices.SortFunc(result.Files, func(a, b rl.File) int { return strings.Compare(a.Name, b.Name) })
	return result, nil
}
