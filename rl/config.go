package rl

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config is run.yaml, complete: every default filled in. Package config reads, checks and compares it; its JSON
// form is stored as runs/<run>/config.json. A `doc` tag is the option's line in `longhaul init` and the schema.
type Config struct {
	Name        RunID             `json:"name" doc:"names the run, its versions (name@000012) and its place in the store"`
	Env         EnvConfig         `json:"env" doc:"what the agent acts in"`
	Policy      PolicyConfig      `json:"policy" doc:"who acts"`
	From        string            `json:"from,omitempty" doc:"start from a checkpoint instead of a warm-up: best(RUN) or RUN@VERSION"`
	WarmUp      WarmUpConfig      `json:"warm_up" doc:"supervised start of the embedded policy, on easy demonstrations"`
	Sampling    SamplingConfig    `json:"sampling" doc:"how actions are sampled"`
	Group       GroupConfig       `json:"group" doc:"what one update collects"`
	Curriculum  CurriculumConfig  `json:"curriculum" doc:"which tasks are sampled less often"`
	Reward      RewardConfig      `json:"reward" doc:"what scores a trajectory"`
	Advantage   AdvantageConfig   `json:"advantage" doc:"how scores of a group become advantages"`
	Loss        LossConfig        `json:"loss" doc:"the policy loss"`
	Update      UpdateConfig      `json:"update" doc:"the update job and its optimiser"`
	Updates     int               `json:"updates" doc:"how many updates to make"`
	Eval        EvalConfig        `json:"eval" doc:"evaluation on held-out tasks"`
	Guard       GuardConfig       `json:"guard" doc:"what happens when an evaluation collapses"`
	Checkpoints CheckpointsConfig `json:"checkpoints" doc:"which checkpoints gc keeps"`
	Store       string            `json:"store" doc:"s3://bucket/prefix; empty: LONGHAUL_STORE, else the embedded store"`
}

// EnvConfig is what the agent acts in, and the limits of an episode.
type EnvConfig struct {
	Use            string      `json:"use" doc:"a registered environment"`
	Tasks          TasksConfig `json:"tasks" doc:"index ranges; the two splits share nothing, whatever the ranges"`
	MaxTurns       int         `json:"max_turns" doc:"an episode is truncated after this many actions"`
	EpisodeTimeout Duration    `json:"episode_timeout" doc:"wall clock of one episode"`
	TurnTimeout    Duration    `json:"turn_timeout" doc:"wall clock of one policy call, and of one tool call"`

	SQLite  SQLiteConfig  `json:"sqlite,omitzero" doc:"env.use: sqlite"`
	OpenEnv OpenEnvConfig `json:"openenv,omitzero" doc:"env.use: openenv"`
	Code    CodeConfig    `json:"code,omitzero" doc:"env.use: code"`
	MCP     MCPConfig     `json:"mcp,omitzero" doc:"env.use: mcp"`
	Agent   AgentConfig   `json:"agent,omitzero" doc:"env.use: agent"`
	Process ProcessConfig `json:"process,omitzero" doc:"env.use: process"`
}

// TasksConfig is the tasks of the two splits.
type TasksConfig struct {
	Train TaskRange `json:"train" doc:"first-last, inclusive"`
	Eval  TaskRange `json:"eval" doc:"first-last, inclusive"`
}

// WarmUpConfig is the supervised start of the embedded policy.
type WarmUpConfig struct {
	Gate         float64 `json:"gate" doc:"greedy success on easy tasks that ends the first part"`
	Extra        int     `json:"extra" doc:"supervised updates after the gate"`
	Max          int     `json:"max" doc:"supervised updates at most; 0: no warm-up"`
	Batch        int     `json:"batch" doc:"demonstrations an update"`
	LearningRate float64 `json:"learning_rate" doc:"AdamW step size"`
}

// SamplingConfig is how actions are sampled, and the seed that everything random follows from.
type SamplingConfig struct {
	Temperature float64 `json:"temperature" doc:"of the policy while it trains"`
	MaxTokens   int     `json:"max_tokens" doc:"an action is cut after this many tokens"`
	Seed        uint64  `json:"seed" doc:"the run's seed: tasks, sampling, initial weights and shuffles follow from it"`
}

// GroupConfig is what one update collects, and which of it counts.
type GroupConfig struct {
	Size         int     `json:"size" doc:"episodes of one task"`
	PerUpdate    int     `json:"per_update" doc:"groups an update"`
	PerActivity  int     `json:"per_activity" doc:"members that one activity runs; size: all of a group"`
	Quorum       float64 `json:"quorum" doc:"share of members that must be scored for the group to count"`
	Valid        float64 `json:"valid" doc:"share of an update's groups that must reach the quorum; below it, further tasks are sampled"`
	Resample     int     `json:"resample" doc:"times that further tasks are sampled for an update before the run is paused"`
	MaxStaleness int     `json:"max_staleness" doc:"versions that a trajectory may lag behind"`
}

// CurriculumConfig is how often tasks are sampled that taught nothing of late.
type CurriculumConfig struct {
	Floor  float64 `json:"floor" doc:"share of its chance to be sampled that a task keeps when its last groups were alike; 0: off, all tasks are sampled alike"`
	Visits int     `json:"visits" doc:"how many of its last groups that takes"`
}

// AdvantageConfig is how the scores of a group become advantages; see package advantage.
type AdvantageConfig struct {
	Use          string  `json:"use" doc:"grpo, dr_grpo, rloo, max_rl, reinforce_pp, reinforce_pp_baseline, gdpo; by turns: returns, gigpo, cw_grpo; or a preset, grpo as in art, trl, verl, skyrl or prime_rl"`
	Std          string  `json:"std" doc:"divisor (not of dr_grpo, rloo, max_rl): population, sample or none"`
	Epsilon      float64 `json:"epsilon" doc:"added to the standard deviation"`
	Singleton    string  `json:"singleton" doc:"drop, or keep a member that is alone in its group, with its score as its advantage"`
	ZeroVariance string  `json:"zero_variance" doc:"drop, or keep a group that nothing distinguishes, with advantages of 0; they count in the loss's mean"`
	Gamma        float64 `json:"gamma" doc:"returns, gigpo: discount of what later turns earn"`
	StepWeight   float64 `json:"step_weight" doc:"gigpo: weight of the comparison within a state"`
}

// LossConfig is the policy loss and what is added to it; see nn.Loss, and docs/algorithms.md for the formulas.
type LossConfig struct {
	Use           string  `json:"use" doc:"cispo, gspo, ppo or sapo; dpo: pairs of better and worse members of a group"`
	Beta          float64 `json:"beta,omitempty" doc:"dpo: how closely the reference is kept to"`
	ClipLow       float64 `json:"clip_low" doc:"the importance ratio is clipped below 1-clip_low (cispo: 1 leaves it free)"`
	ClipHigh      float64 `json:"clip_high" doc:"and above 1+clip_high; sapo does not clip"`
	RatioCap      float64 `json:"ratio_cap" doc:"ppo: where the advantage is negative, the ratio counts up to this (dual clip); 0: no cap"`
	TauPositive   float64 `json:"tau_positive" doc:"sapo: temperature of the gate where the advantage is positive"`
	TauNegative   float64 `json:"tau_negative" doc:"and where it is not"`
	Reduction     string  `json:"reduction" doc:"from tokens to an optimiser step: token_mean, sequence_mean, constant or global_token_mean"`
	Length        int     `json:"length" doc:"tokens that a row counts as under constant; 0: env.max_turns x sampling.max_tokens"`
	MismatchCap   float64 `json:"mismatch_cap" doc:"old log-probabilities are the trainer's own, and each token weighs min(exp(trainer - sampler), this); 0: off"`
	OffPolicyMask float64 `json:"off_policy_mask" doc:"rows that have become less likely by this many nats a token since they were sampled lose their tokens of negative advantage; 0: off"`
	KLCoef        float64 `json:"kl_coef" doc:"times the KL to the reference policy; 0: no reference is loaded"`
	KL            string  `json:"kl" doc:"its estimator: k1, k2 or k3"`
	KLIn          string  `json:"kl_in" doc:"loss: added to the loss; reward: taken off each token's advantage, less the batch's mean"`
	Reference     string  `json:"reference,omitempty" doc:"RUN@VERSION; empty: version 0 of this run"`
	EntropyCoef   float64 `json:"entropy_coef" doc:"times the entropy (nats a token) is taken off the loss"`
}

// ReferenceVersion is the policy that the KL, or dpo, is measured against; empty when none is.
func (c Config) ReferenceVersion() Version {
	switch {
	case c.Loss.KLCoef == 0 && c.Loss.Use != "dpo":
		return ""
	case c.Loss.Reference == "":
		return VersionOf(c.Name, 0)
	}
	return Version(c.Loss.Reference)
}

// EvalConfig is how often held-out tasks are played, and what makes a version the best.
type EvalConfig struct {
	Every   int    `json:"every" doc:"evaluate after every this many updates, and before the first and after the last; 0: never"`
	Tasks   int    `json:"tasks" doc:"held-out tasks an evaluation, from the start of env.tasks.eval"`
	Promote string `json:"promote" doc:"when the best pointer moves: METRIC >= best [+|- NUMBER]; METRIC is success (the lower of the two), greedy or sampled"`
}

// GuardConfig is what happens when an evaluation collapses.
type GuardConfig struct {
	Collapse float64 `json:"collapse" doc:"an evaluation below this share of the best goes back to the best checkpoint with half the learning rate; 0: off"`
	Retries  int     `json:"retries" doc:"at most this often in a run"`
}

// CheckpointsConfig is which checkpoints are kept.
type CheckpointsConfig struct {
	KeepLast int `json:"keep_last" doc:"newest checkpoints kept"`
	KeepBest int `json:"keep_best" doc:"best evaluated checkpoints kept"`
}

// TaskRange is an inclusive range of task indices, written "0-9999".
type TaskRange struct{ First, Last int }

// Len is the number of tasks in the range.
func (r TaskRange) Len() int { return r.Last - r.First + 1 }

func (r TaskRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// MarshalText writes "first-last".
func (r TaskRange) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads "first-last", with 0 <= first <= last.
func (r *TaskRange) UnmarshalText(b []byte) error {
	lo, hi, ok := strings.Cut(string(b), "-")
	first, err1 := strconv.Atoi(lo)
	last, err2 := strconv.Atoi(hi)
	if !ok || err1 != nil || err2 != nil || first < 0 || last < first {
		return fmt.Errorf("%q is not a range of task indices such as 0-9999", b)
	}
	r.First, r.Last = first, last
	return nil
}

// Duration is written "30m" or "1.5s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes Go's duration form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads Go's duration form; it must be positive.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a positive duration such as 30m or 1.5s", b)
	}
	*d = Duration(v)
	return nil
}

// CanonicalJSON is v with its fields in declaration order, maps sorted, no spaces: what keys and hashes are
// made of.
func CanonicalJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rl: %T cannot be marshalled: %v", v, err)) // only types of this package
	}
	return b
}
