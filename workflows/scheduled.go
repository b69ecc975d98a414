package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// PrepareActivity is the name of the activity that records what a schedule is about to start. Package workers has it,
// beside the code that launches runs by hand.
const PrepareActivity = "PrepareScheduled"

// StoreMemo is the key of a workflow's memo that holds its store. A workflow's id names the run alone, and the same name
// may be used on two stores.
const StoreMemo = "store"

// scheduledStart is set by Temporal on what a schedule starts: the time at which it was due.
var scheduledStart = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// ScheduledIn names what to start: an rl.Schedule in a store.
type ScheduledIn struct {
	Store    string `json:"store"`
	Schedule rl.Ref `json:"schedule"`
}

// PrepareIn is one start of a schedule, which was due at a time.
type PrepareIn struct {
	ScheduledIn
	Due time.Time `json:"due"`
}

// Prepared is a run whose configuration is recorded, or an evaluation: then Plan is nil.
type Prepared struct {
	activities.Stage
	Plan           *Plan         `json:"plan,omitempty"`
	EpisodeTimeout time.Duration `json:"episode_timeout"`
}

// ScheduledOut is what was started, by its workflow id, and how a run ended.
type ScheduledOut struct {
	Workflow string   `json:"workflow"`
	State    RunState `json:"state,omitempty"`
}

// ScheduledID is how the ids of a schedule's workflows begin; Temporal adds when each was due.
func ScheduledID(schedule string) string { return "scheduled/" + schedule }

// Scheduled is one start of a schedule. It stays open until what it started has ended, so that the schedule's overlap
// policy is about runs and evaluations: to cancel or terminate it is to cancel or terminate those.
func Scheduled(ctx workflow.Context, in ScheduledIn) (out ScheduledOut, err error) {
	due, ok := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledStart)
	if !ok { // started by hand
		due = workflow.Now(ctx)
	}
	var p Prepared
	if err := workflow.ExecuteActivity(noBeat(ctx), PrepareActivity, PrepareIn{in, due.UTC().Truncate(time.Second)}).Get(ctx, &p); err != nil {
		return out, err
	}
	if p.Plan == nil {
		out.Workflow = EvaluateID(rl.VersionOf(p.Run, p.Update), p.Evaluation)
		_, err := evaluated(ctx, EvaluateIn{Stage: p.Stage, EpisodeTimeout: p.EpisodeTimeout})
		return out, err
	}
	out.Workflow = TrainID(p.Run)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: out.Workflow, TaskQueue: ControlQueue, Memo: map[string]any{StoreMemo: p.Store}, WaitForCancellation: true,
	})
	var done TrainOut
	err = workflow.ExecuteChildWorkflow(child, Train, TrainIn{Logic: LogicVersion, Run: p.Run, Store: p.Store, Config: p.Config, Plan: *p.Plan}).Get(ctx, &done)
	out.State = done.State
	return out, err
}
