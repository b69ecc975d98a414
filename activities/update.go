package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/infra/launch"
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
	Job          *rl.JobUse         `json:"job,omitempty"` // nil: this process did it
}

// UpdatePolicy runs the update job: it trains from the base checkpoint named in its spec, never from "latest", and
// records a result. The job's key is the hash of its spec: asked for twice, it answers with the recorded result.
//
// The embedded trainer's work is brought to its end although the stage was cancelled meanwhile. A job of its own goes on
// by itself.
func (a *Activities) UpdatePolicy(ctx context.Context, in UpdatePolicyIn) (UpdatePolicyOut, error) {
	ctx, stop := telling(ctx)
	defer stop()
	out, err := a.updatePolicy(ctx, in)
	return out, temporalError(ctx, err)
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
	if err := st.PutSpec(ctx, job, body); err != nil {
		return out, err
	}
	var ref rl.Ref
	var result rl.UpdateResult
	if cfg.Update.Use == embeddedTrainer || cfg.Update.Use == tinkered || stepless(spec) {
		if ref, result, err = a.trained(ctx, st, cfg, spec, job); err == nil && cfg.Update.Use == tinkered {
			out.Job, err = conversations(ctx, st, cfg, spec, job, result)
		}
	} else {
		ref, result, out.Job, err = a.launched(ctx, in.Stage, st, cfg, job)
	}
	if err != nil {
		return out, err
	}
	if result.TokensConsumed != spec.TrainedTokens {
		return out, rl.Errorf(rl.Corrupt, "store "+ref.Key, "the job consumed %d tokens of %d", result.TokensConsumed, spec.TrainedTokens)
	}
	out.Result, out.LearningRate, out.Metrics = ref, spec.LearningRate, result.Metrics
	return out, nil
}

// stepless reports whether an update makes no optimiser step: update 0, and one that nothing was left to train on. No machine
// is asked for, or paid, to find that out.
func stepless(spec rl.UpdateSpec) bool { return spec.Batch == nil || spec.TrainedTokens == 0 }

// embeddedTrainer is the value of update.use for the trainer of this process.
const embeddedTrainer = "embedded"

// Trainers are the values of update.use.
func Trainers() []string { return append([]string{embeddedTrainer, tinkered}, launch.Names()...) }

// whole is the recorded result of a job. Errors: NotFound when there is none; Corrupt when it, or anything that it refers
// to, is not what was stored: then the work is to be done again, which mends it; else as Store.JobResult.
func whole(ctx context.Context, st *store.Store, job string) (rl.Ref, rl.UpdateResult, error) {
	ref, result, err := st.JobResult(ctx, job)
	if err != nil {
		return ref, result, err
	}
	if err = st.CheckFiles(ctx, result.Files); rl.KindOf(err) == rl.NotFound {
		err = rl.Errorf(rl.Corrupt, "store "+ref.Key, "what it refers to is gone: %w", err)
	}
	return ref, result, err
}

// trained does the work of a spec in this process, or has a service do it, unless it is done, and records the result.
func (a *Activities) trained(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec, job string) (rl.Ref, rl.UpdateResult, error) {
	ref, result, err := whole(ctx, st, job)
	if !absent(err) {
		return ref, result, err
	}
	switch {
	case spec.Base != nil && stepless(spec) && cfg.Update.Use != embeddedTrainer:
		result, err = adopt(ctx, st, *spec.Base)
	case cfg.Update.Use == tinkered:
		result, err = a.conversed(ctx, st, cfg, spec, job)
	default:
		result, err = a.alone(ctx, st, cfg, spec)
	}
	if err != nil {
		return ref, result, err
	}
	result.Spec = job
	return st.PutResult(ctx, job, result)
}

// alone is Train while nothing else trains on this machine.
func (a *Activities) alone(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec) (r rl.UpdateResult, err error) {
	leave, err := a.enter(ctx)
	if err != nil {
		return r, err
	}
	defer leave()
	ctx, cancel := finishing(ctx)
	defer cancel()
	return a.Train(ctx, st, cfg, spec)
}

// enter waits until nothing else trains on this machine.
func (a *Activities) enter(ctx context.Context) (leave func(), err error) {
	a.mu.Lock()
	if a.machine == nil {
		a.machine = make(chan struct{}, 1)
	}
	machine := a.machine
	a.mu.Unlock()
	select {
	case machine <- struct{}{}:
	default:
		tellAs(ctx, Progress{What: "updates before it on this machine", Total: 1})
		select {
		case machine <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() { <-machine }, nil
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

// Train does the work of a spec with the embedded trainer, and says what that leaves: the files are stored, the result is
// the caller's to record.
func (a *Activities) Train(ctx context.Context, st *store.Store, cfg rl.Config, spec rl.UpdateSpec) (rl.UpdateResult, error) {
	var (
		trainer *nn.Trainer
		m       map[string]float64
		err     error
	)
	if spec.Update == 0 && spec.Base != nil {
		return adopt(ctx, st, *spec.Base)
	}
	if spec.Base == nil && cfg.Policy.Use != "tiny" && cfg.Policy.Base == "" { // the servers' own model, which is only evaluated
		return rl.UpdateResult{Schema: rl.UpdateResultSchema, Files: []rl.File{}, Metrics: map[string]float64{}}, nil
	}
	if spec.Base == nil && cfg.Policy.Use != "tiny" {
		return a.importBase(ctx, st, cfg.Policy.Base)
	}
	if spec.Base == nil {
		trainer, m, err = a.warmUp(ctx, st, cfg, spec)
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
