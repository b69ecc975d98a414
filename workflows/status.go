package workflows

import (
	"time"

	"github.com/longhaul-rl/longhaul/rl"
)

// RunState is where a run stands.
type RunState string

const (
	Running RunState = "running"
	Done    RunState = "done"
	Failed  RunState = "failed"
)

// Status answers StatusQuery: what Train knows of its run.
type Status struct {
	Run        rl.RunID        `json:"run"`
	State      RunState        `json:"state"`
	Stage      string          `json:"stage"`  // the activity or child workflow under way
	Since      time.Time       `json:"since"`  // when that began
	Update     rl.UpdateNumber `json:"update"` // under way; when done, the last
	Updates    int             `json:"updates"`
	Version    rl.Version      `json:"version"`    // the newest that samples
	Checkpoint *rl.Ref         `json:"checkpoint"` // its manifest
	Best       *Best           `json:"best"`
	Seconds    rl.Seconds      `json:"seconds"` // of the last finished update
	Events     []rl.Event      `json:"events"`  // the newest few
}

// Best is the best evaluated version so far.
type Best struct {
	Manifest rl.Ref          `json:"manifest"`
	Update   rl.UpdateNumber `json:"update"`
	Success  float64         `json:"success"`
}

// eventsKept bounds the events that Train carries along; the store has them all, in the updates' summaries.
const eventsKept = 5
