package workflows

import "github.com/longhaul-rl/longhaul/rl"

// RunState is where a run stands, as its search attribute says.
type RunState string

const (
	Running RunState = "running"
	Done    RunState = "done"
	Failed  RunState = "failed"
)

// Best is the best evaluated version so far.
type Best struct {
	Manifest rl.Ref          `json:"manifest"`
	Update   rl.UpdateNumber `json:"update"`
	Success  float64         `json:"success"`
}
