package workflows

// RunState is where a run stands, as its search attribute says.
type RunState string

const (
	Running   RunState = "running"
	Paused    RunState = "paused"
	Cancelled RunState = "cancelled"
	Done      RunState = "done"
	Failed    RunState = "failed"
)

// Over reports whether the run has ended.
func (s RunState) Over() bool { return s == Cancelled || s == Done || s == Failed }
