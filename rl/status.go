package rl

import "time"

// Seconds is wall time by stage.
type Seconds struct {
	Sample     float64 `json:"sample"`
	Rollout    float64 `json:"rollout"`
	Judge      float64 `json:"judge"`
	Advantage  float64 `json:"advantage"`
	Update     float64 `json:"update"`
	Checkpoint float64 `json:"checkpoint"`
	Publish    float64 `json:"publish"`
}

// Total is the sum over the stages.
func (s Seconds) Total() float64 {
	return s.Sample + s.Rollout + s.Judge + s.Advantage + s.Update + s.Checkpoint + s.Publish
}

// UpdateSummary is one update's line for people: runs/<run>/updates/<n8>/summary.json, written once by Publish.
type UpdateSummary struct {
	Schema               string             `json:"schema"` // UpdateSummarySchema
	Run                  RunID              `json:"run"`
	Update               UpdateNumber       `json:"update"`
	Time                 time.Time          `json:"time"`
	Version              Version            `json:"version"`
	Checkpoint           Ref                `json:"checkpoint"` // the manifest
	Success              float64            `json:"success"`    // share of scored trajectories to which the environment, or else the reward, gives 1 or more
	RewardMean           float64            `json:"reward_mean"`
	RewardStd            float64            `json:"reward_std"`                    // mean over groups of the population std
	ZeroVarianceFraction float64            `json:"zero_variance_fraction"`        // share of groups
	JudgeFlatFraction    float64            `json:"judge_flat_fraction,omitempty"` // share of groups left out as judge_flat
	Loss                 float64            `json:"loss"`
	Metrics              map[string]float64 `json:"metrics"` // of the update job
	Tokens               int                `json:"tokens"`  // sampled
	Turns                int                `json:"turns"`
	LearningRate         float64            `json:"learning_rate"`
	Seconds              Seconds            `json:"seconds"`
	Job                  *JobUse            `json:"job,omitempty"`     // nil: the embedded trainer made it
	Signals              *Signals           `json:"signals,omitempty"` // nil: update 0, or a version of longhaul without them
	Watch                *Watch             `json:"watch,omitempty"`
	Events               []Event            `json:"events,omitempty"`
}

// Flat is the share of the update's groups whose members were not told apart: by their scores, or by more than their judge's noise.
func (u UpdateSummary) Flat() float64 { return u.ZeroVarianceFraction + u.JudgeFlatFraction }

// UpdateSummarySchema is the version of the UpdateSummary JSON form.
const UpdateSummarySchema = "longhaul/summary/1"

// Event is something a person should hear of: a fallback to an older checkpoint, a collapse, a pause, a warning.
type Event struct {
	Time   time.Time    `json:"time"`
	Update UpdateNumber `json:"update"`
	Kind   string       `json:"kind"`           // checkpoint_fallback, collapse, promoted, warning ...
	Name   string       `json:"name,omitempty"` // of a warning: entropy_collapse ...
	Text   string       `json:"text"`
}

// Evaluation is the result of playing held-out tasks with one version: greedily and by sampling.
type Evaluation struct {
	Schema  string             `json:"schema"` // EvaluationSchema
	Run     RunID              `json:"run"`
	Version Version            `json:"version"`
	Key     string             `json:"key"`             // hash of the tasks and the sampling, the last part of eval/RUN@VERSION/HASH
	Model   string             `json:"model,omitempty"` // a baseline: an endpoint's own model played, and not Version
	Tasks   int                `json:"tasks"`
	Greedy  Rate               `json:"greedy"`
	Sampled Rate               `json:"sampled"`
	ByKind  map[string]Rate    `json:"by_kind,omitempty"` // of sampled play
	Failed  map[LeftOut]int    `json:"failed,omitempty"`  // episodes without a score, by boundary
	Metrics map[string]float64 `json:"metrics,omitempty"` // means over sampled play: turns, tokens
}

// EvaluationSchema is the version of the Evaluation JSON form.
const EvaluationSchema = "longhaul/evaluation/1"

// Success is the lower of greedy and sampled success: a policy is as good as its worse way of play.
func (e Evaluation) Success() float64 { return min(e.Greedy.Mean, e.Sampled.Mean) }

// Rate is a share with its 95 % Wilson interval.
type Rate struct {
	Hits int     `json:"hits"`
	Of   int     `json:"of"`
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
