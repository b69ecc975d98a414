package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// Plan is what the workflows need of a run's configuration to decide. The stages read the whole of it from the
// store.
type Plan struct {
	Updates        int           `json:"updates"`
	Size           int           `json:"size"`
	PerActivity    int           `json:"per_activity"`
	Quorum         float64       `json:"quorum,omitempty"`
	Valid          float64       `json:"valid,omitempty"`
	Resample       int           `json:"resample,omitempty"`
	EpisodeTimeout time.Duration `json:"episode_timeout"`
	EvalEvery      int           `json:"eval_every"`
	EvalKey        string        `json:"eval_key"`
	Guard          rl.GuardRules `json:"guard"`
}

// PlanOf extracts the plan from a complete configuration.
func PlanOf(c rl.Config) Plan {
	return Plan{
		Updates: c.Updates, Size: c.Group.Size, PerActivity: c.Group.PerActivity,
		Quorum: c.Group.Quorum, Valid: c.Group.Valid, Resample: c.Group.Resample,
		EpisodeTimeout: time.Duration(c.Env.EpisodeTimeout),
		EvalEvery:      c.Eval.Every, EvalKey: EvaluationKey(c), Guard: c.GuardRules(),
	}
}

// EvaluationKey is the hash of everything that an evaluation's outcome depends on beside the version: equal keys
// can be compared. 8 hex digits, the last part of eval/RUN@VERSION/HASH.
func EvaluationKey(c rl.Config) string {
	sum := sha256.Sum256(rl.CanonicalJSON(struct {
		Env      rl.EnvConfig
		Sampling rl.SamplingConfig
		Tasks    int
	}{c.Env, c.Sampling, c.Eval.Tasks}))
	return hex.EncodeToString(sum[:4])
}

// BaselineKey is the EvaluationKey of a configuration whose servers play with a model of their own: which one, and where, is part
// of what the outcome depends on.
func BaselineKey(c rl.Config) string {
	sum := sha256.Sum256([]byte(EvaluationKey(c) + " " + c.Policy.URL + " " + c.Policy.Model))
	return hex.EncodeToString(sum[:4])
}

// Evaluates reports whether version n is evaluated: the first, every EvalEvery-th and the last.
func (p Plan) Evaluates(n rl.UpdateNumber) bool {
	return rl.EvalConfig{Every: p.EvalEvery}.Due(n, p.Updates)
}
