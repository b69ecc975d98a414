package rl

import "math"

// Score is a judged or computed reward of one trajectory, with named metrics beside it.
// Either Value counts, or Unscored says why there is none; an absent score is never a zero.
type Score struct {
	Value    float64            `json:"value"`
	Unscored string             `json:"unscored,omitempty"`
	Reason   string             `json:"reason,omitempty"` // the scorer's own short explanation
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	// Turns is what each turn contributed to the outcome, from 0 to 1, where a judge was asked for that.
	Turns []float64 `json:"turns,omitempty"`
}

// Scored reports whether Value counts.
func (s Score) Scored() bool { return s.Unscored == "" }

// MostScore is the largest magnitude that a score, one of its metrics or a turn's reward may have: far above all that anybody
// means, and far below where sums, squares and float32 gradients of such numbers overflow.
const MostScore = 1e24

// Countable reports whether a number can be a score, a metric or a turn's reward. NaN cannot.
func Countable(v float64) bool { return math.Abs(v) <= MostScore }

// Numbers are the score's value, as "value", and its metrics.
func (s Score) Numbers() map[string]float64 {
	all := map[string]float64{}
	for name, v := range s.Metrics {
		all[name] = v
	}
	all["value"] = s.Value
	return all
}

// Group is the trajectories of one task in one update. A member whose episode failed is nil in Trajectories and
// has its reason in Failed.
type Group struct {
	Task         Task          `json:"task"`
	Trajectories []*Trajectory `json:"trajectories"` // by member
	Failed       []string      `json:"failed"`       // by member; empty where there is a trajectory
	// Tools are what the agent could call, and Rubric is the environment's own word on what makes an attempt at Task good,
	// where it has one: a judge is told both.
	Tools  []Tool `json:"-"`
	Rubric string `json:"-"`
}

// Scores is the judged group: one Score per member, in order. It is written once.
type Scores struct {
	Schema string  `json:"schema"` // ScoresSchema
	Task   TaskID  `json:"task"`
	Reward string  `json:"reward"` // the registered name of the reward that made it
	Scores []Score `json:"scores"`
	// Flat says why the scores, though they differ, say nothing about the members; empty: they do.
	Flat  string   `json:"flat,omitempty"`
	Notes []string `json:"notes,omitempty"` // how they came about, where that is out of the ordinary
	Spent Spent    `json:"spent,omitzero"`  // on a judge
}

// Spent is what judging took.
type Spent struct {
	Calls        int     `json:"calls"`
	PromptTokens int     `json:"prompt_tokens"`
	ReplyTokens  int     `json:"reply_tokens"`
	USD          float64 `json:"usd"`
}

// Add takes in what further calls took.
func (s *Spent) Add(o Spent) {
	s.Calls, s.PromptTokens, s.ReplyTokens, s.USD = s.Calls+o.Calls, s.PromptTokens+o.PromptTokens, s.ReplyTokens+o.ReplyTokens, s.USD+o.USD
}

// ScoresSchema is the version of the Scores JSON form.
const ScoresSchema = "longhaul/scores/1"
