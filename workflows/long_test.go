package workflows

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// quiet is a logger of nothing.
type quiet struct{}

func (quiet) Debug(string, ...any)          {}
func (quiet) Info(string, ...any)           {}
func (quiet) Warn(string, ...any)           {}
func (quiet) Error(string, ...any)          {}
func (q quiet) With(...any) log.Logger      { return q }
func (quiet) WithCallerSkip(int) log.Logger { return quiet{} }

// Ten thousand updates, continued as new every so often: what is carried over stays as small as it was. That is all the
// controller keeps: a worker holds nothing of a workflow run that has ended. (The test's environment does, so that its
// heap says nothing.)
func TestTenThousandUpdates(t *testing.T) {
	const updates, each = 10_000, 500
	in := TrainIn{Logic: LogicVersion, Run: "r", Plan: Plan{Updates: updates, Size: 8, PerActivity: 8}}
	continued := 0
	for made := 0; made <= updates; {
		var s testsuite.WorkflowTestSuite
		s.SetLogger(quiet{})
		env := environment(&s)
		env.RegisterWorkflow(Collect)
		env.OnActivity(stages.Restore, mock.Anything, mock.Anything).Return(activities.RestoreOut{Guard: rl.Guard{Scale: 1}}, nil)
		env.OnActivity(stages.SampleGroup, mock.Anything, mock.Anything).Return(activities.SampleGroupOut{Groups: 1}, nil)
		env.OnActivity(stages.RunTrajectory, mock.Anything, mock.Anything).Return(activities.RunTrajectoryOut{}, nil)
		env.OnActivity(stages.JudgeGroup, mock.Anything, mock.Anything).Return(activities.JudgeGroupOut{}, nil)
		env.OnActivity(stages.ComputeAdvantages, mock.Anything, mock.Anything).Return(activities.ComputeAdvantagesOut{TrainedTokens: 1}, nil)
		env.OnActivity(stages.UpdatePolicy, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.UpdatePolicyIn) (activities.UpdatePolicyOut, error) {
			if made = int(in.Update) + 1; made%each == 0 {
				env.SetContinueAsNewSuggested(true)
			}
			return activities.UpdatePolicyOut{}, nil
		})
		env.OnActivity(stages.Checkpoint, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.CheckpointIn) (rl.Ref, error) {
			return manifest(in.Update), nil
		})
		env.OnActivity(stages.Publish, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PublishIn) (activities.PublishOut, error) {
			return activities.PublishOut{New: true, Told: in.Summary.Events}, nil
		})
		env.ExecuteWorkflow(Train, in)
		err := env.GetWorkflowError()
		next, again := errors.AsType[*workflow.ContinueAsNewError](err)
		if !again {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if n := next.Input.Size(); n > 2048 {
			t.Fatalf("after %d updates, %d bytes are carried over", made, n)
		}
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
			t.Fatal(err)
		}
		continued++
	}
	if continued != updates/each {
		t.Fatalf("continued as new %d times", continued)
	}
}
