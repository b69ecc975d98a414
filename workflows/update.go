package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// update walks the line once: it makes version Next. Update 0 has no trajectories, its job makes the initial
// policy.
func (t *train) update(ctx workflow.Context) error {
	s := rl.UpdateSummary{Version: rl.VersionOf(t.in.Run, t.Next)}
	job := activities.UpdatePolicyIn{Stage: t.at(t.Next), Base: t.Base, Scale: t.Guard.Scale}
	if t.Next > 0 {
		if err := t.gather(ctx, &job, &s); err != nil {
			return err
		}
	}
	var updated activities.UpdatePolicyOut
	if err := t.do(ctx, updating(ctx), training, stages.UpdatePolicy, job, &updated, &s.Seconds.Update); err != nil {
		return err
	}
	s.Job = updated.Job
	s.LearningRate, s.Loss, s.Metrics = updated.LearningRate, updated.Metrics["loss"], updated.Metrics
	if err := t.do(ctx, noBeat(ctx), "its checkpoint", stages.Checkpoint, activities.CheckpointIn{Stage: t.at(t.Next), Result: updated.Result, Base: t.Base}, &s.Checkpoint, &s.Seconds.Checkpoint); err != nil {
		return err
	}
	s.Events = t.Untold
	var published activities.PublishOut
	if err := t.do(ctx, bookkeeping(ctx), "its publication", stages.Publish, activities.PublishIn{Stage: t.at(t.Next), Summary: s}, &published, &s.Seconds.Publish); err != nil {
		return err
	}
	t.Base, t.Current = &s.Checkpoint, t.Next
	if published.New { // else an earlier walk of this update wrote its summary
		t.Backs = 0
	}
	t.Untold = slices.DeleteFunc(t.Untold, func(e rl.Event) bool { return slices.Contains(published.Told, e) })
	return nil
}

// gather samples the update's groups and turns them into a batch.
func (t *train) gather(ctx workflow.Context, job *activities.UpdatePolicyIn, s *rl.UpdateSummary) error {
	if err := t.reopen(ctx); err != nil {
		return err
	}
	var in activities.ComputeAdvantagesIn
	enough := false
	for round := 0; !enough; round++ {
		tasks, err := t.round(ctx, round, s)
		if err != nil {
			return err
		}
		if round == 0 {
			in = activities.ComputeAdvantagesIn{Stage: t.at(t.Next), Tasks: tasks, Current: t.Current}
		} else {
			in.More = append(in.More, tasks)
		}
		if enough, err = t.enough(ctx, round); err != nil {
			return err
		}
	}
	var batch activities.ComputeAdvantagesOut
	if err := t.do(ctx, bookkeeping(ctx), "its advantages", stages.ComputeAdvantages, in, &batch, &s.Seconds.Advantage); err != nil {
		return err
	}
	t.nothing = batch.TrainedTokens == 0
	s.Success, s.RewardMean, s.RewardStd = batch.Stats.Success, batch.Stats.RewardMean, batch.Stats.RewardStd
	s.ZeroVarianceFraction, s.Tokens, s.Turns = batch.Stats.ZeroVarianceFraction, batch.Stats.Tokens, batch.Stats.Turns
	s.JudgeFlatFraction = batch.Stats.JudgeFlatFraction
	job.Batch, job.Sequences, job.Tokens, job.TrainedTokens, job.Versions = &batch.Batch, batch.Sequences, batch.Tokens, batch.TrainedTokens, batch.Versions
	return nil
}

// round samples tasks, the round-th time for this update, and collects their groups.
func (t *train) round(ctx workflow.Context, round int, s *rl.UpdateSummary) (tasks rl.Ref, err error) {
	in := activities.SampleGroupIn{Stage: t.at(t.Next), Round: round}
	if round == 0 {
		t.asked, t.valid = 0, 0
	} else {
		in.Groups = t.asked - t.valid
	}
	var sampled activities.SampleGroupOut
	var seconds float64
	if err := t.do(ctx, noBeat(ctx), "its tasks are sampled", stages.SampleGroup, in, &sampled, &seconds); err != nil {
		return tasks, err
	}
	got, err := t.collect(ctx, sampled, round)
	if err != nil {
		return tasks, err
	}
	t.asked, t.valid = t.asked+sampled.Groups, t.valid+got.Valid
	s.Seconds.Sample += seconds
	s.Seconds.Rollout += got.RolloutSeconds
	s.Seconds.Judge += got.JudgeSeconds
	if got.Again > 0 {
		t.tell(ctx, "begun_again", fmt.Sprintf("%d episodes were begun anew: after an interruption their environment did not say again what it had said", got.Again))
	}
	return sampled.Tasks, nil
}

// reopen gives the failed episodes of an update for which the run was paused another chance, once a person has resumed it.
func (t *train) reopen(ctx workflow.Context) error {
	if !t.Reopen {
		return nil
	}
	var out activities.ReopenOut
	var seconds float64
	if err := t.do(ctx, bookkeeping(ctx), "its failed episodes are reopened", stages.Reopen, t.at(t.Next), &out, &seconds); err != nil {
		return err
	}
	t.Reopen = false
	t.tell(ctx, "reopened", fmt.Sprintf("%d groups are judged again, and %d failed episodes in them played", out.Groups, out.Episodes))
	return nil
}

// enough reports whether enough groups reached the quorum to learn from. When they did not, and further rounds have not
// helped, the run is paused: a person can mend what is broken and resume, which gives what failed another chance, and allows
// as many rounds again.
func (t *train) enough(ctx workflow.Context, round int) (bool, error) {
	need := rl.Quorum(t.in.Plan.Valid, t.asked)
	if t.valid >= need {
		return true, nil
	}
	words := fmt.Sprintf("%d of %d groups reached the quorum, %d are needed", t.valid, t.asked, need)
	if round < t.in.Plan.Resample+t.Rounds {
		t.tell(ctx, "resampled", words+": further tasks are sampled")
		return false, nil
	}
	t.Rounds += max(1, t.in.Plan.Resample)
	t.Reopen = workflow.GetVersion(ctx, "reopen", workflow.DefaultVersion, 1) > workflow.DefaultVersion
	t.want(ctx, Paused, Command{By: byItself, Why: fmt.Sprintf("%s, after %d rounds of further tasks; `longhaul show %s/%d` says what became of the rest", words, round, t.in.Run, t.Next)})
	return false, ctx.Err()
}

// collect runs one Collect, or several side by side for an update of many groups.
func (t *train) collect(ctx workflow.Context, sampled activities.SampleGroupOut, round int) (all CollectOut, err error) {
	t.doing = playing
	parts := (sampled.Groups + groupsPerCollect - 1) / groupsPerCollect
	futures := make([]workflow.ChildWorkflowFuture, parts)
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel() // when one part fails for good the others need not go on
	for p := range parts {
		child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: CollectID(t.in.Run, t.Next, round, p, parts), TaskQueue: ControlQueue, WaitForCancellation: true})
		first := p * groupsPerCollect
		futures[p] = workflow.ExecuteChildWorkflow(child, Collect, CollectIn{
			Stage: t.at(t.Next), Tasks: sampled.Tasks, Version: rl.VersionOf(t.in.Run, t.Current),
			First: first, Groups: min(groupsPerCollect, sampled.Groups-first),
			Size: t.in.Plan.Size, PerActivity: t.in.Plan.PerActivity, Quorum: t.in.Plan.Quorum, EpisodeTimeout: t.in.Plan.EpisodeTimeout,
		})
	}
	for _, f := range futures {
		var out CollectOut
		if err := f.Get(ctx, &out); err != nil {
			return all, err
		}
		all.Again += out.Again
		all.Valid += out.Valid
		all.RolloutSeconds = max(all.RolloutSeconds, out.RolloutSeconds)
		all.JudgeSeconds = max(all.JudgeSeconds, out.JudgeSeconds)
	}
	return all, nil
}

// do runs one stage, in words what, and takes its wall time, in seconds, from the workflow's clock: queueing and Temporal's own
// overhead are part of it.
func (t *train) do(ctx, options workflow.Context, what string, stage, in, out any, seconds *float64) error {
	began := workflow.Now(ctx)
	t.doing, t.begun = what, t.begun || what == training
	err := workflow.ExecuteActivity(options, stage, in).Get(ctx, out)
	*seconds = workflow.Now(ctx).Sub(began).Seconds()
	return err
}
