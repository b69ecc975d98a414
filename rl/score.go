package rl

// Score is a judged or computed reward of one trajectory, with named metrics beside it.
// Either Value counts, or Unscored says why there is none; an absent score is never a zero.
type Score struct {
	Value    float64            `json:"value"`
	Unscored string             `json:"unscored,omitempty"`
	Reason   string             `json:"reason,omitempty"` // the scorer's own short explanation
	Metrics  map[string]float64 `json:"metrics,omitempty"`
}

// Scored reports whether Value counts.
func (s Score) Scored() bool { return s.Unscored == "" }

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
}

// Scores is the judged group: one Score per member, in order. It is written once.
type Scores struct {
	Schema string  `json:"schema"` // ScoresSchema
	Task   TaskID  `json:"task"`
	Reward string  `json:"reward"` // the registered name of the reward that made it
	Scores []Score `json:"scores"`
}

// ScoresSchema is the version of the Scores JSON form.
const ScoresSchema = "longhaul/scores/1"
