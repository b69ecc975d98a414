// Package workflows decides what runs when: Train makes a run's updates one after another, Collect gathers the
// groups of one update, Evaluate plays held-out tasks. They hold references, counters and decisions; the bytes
// and the work are in package activities, whose methods are named here through a nil pointer.
//
// Workflow code is replayed from history: it reads no clock but workflow.Now, draws no random numbers and ranges
// over no map. A change of behaviour raises LogicVersion; testdata holds one recorded history per released
// version, and a test replays them all.
//
// Read train.go first.
package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// LogicVersion numbers the behaviour of the workflows in this package. A run started under another version is
// refused by Train instead of being half understood.
const LogicVersion = 1

// Task queues, one per kind of work, so that workers can be sized and placed by it.
const (
	ControlQueue = "control" // workflows and short stages
	RolloutQueue = "rollout" // RunTrajectory
	JudgeQueue   = "judge"   // JudgeGroup
	UpdateQueue  = "update"  // UpdatePolicy
)

// Search attributes of a run, for `longhaul runs` and for Temporal's own lists.
var (
	RunAttribute    = temporal.NewSearchAttributeKeyKeyword("LonghaulRun")
	UpdateAttribute = temporal.NewSearchAttributeKeyInt64("LonghaulUpdate")
	StateAttribute  = temporal.NewSearchAttributeKeyKeyword("LonghaulState")
)

// TrainID is the workflow id of a run.
func TrainID(run rl.RunID) string { return "train/" + string(run) }

// CollectID is the workflow id of a part of an update's groups, sampled in a round (0 is the first).
func CollectID(run rl.RunID, n rl.UpdateNumber, round, part, parts int) string {
	id := fmt.Sprintf("collect/%s/%d", run, n)
	if round > 0 {
		id += fmt.Sprintf("/more-%d", round)
	}
	if parts > 1 {
		id += fmt.Sprintf("/%d", part)
	}
	return id
}

// EvaluateID is the workflow id of an evaluation.
func EvaluateID(v rl.Version, key string) string { return fmt.Sprintf("eval/%s/%s", v, key) }

// stages names the activities; it is never called.
var stages *activities.Activities
