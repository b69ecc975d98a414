package workflows

// RunState is where a run stands, as its search attribute says.
type RunState string

const (
	Running RunState = "running"
	Done    RunState = "done"
	Failed  RunState = "failed"
)
