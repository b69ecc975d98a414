package workflows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/longhaul-rl/longhaul/activities"
	"github.com/longhaul-rl/longhaul/rl"
)

// world plays the stages' part: it answers as the store would, and notes what Train asked for.
type world struct {
	played  atomic.Pointer[func()] // is called once, by the next rollout of those that run beside each other; may be nil
	env     *testsuite.TestWorkflowEnvironment
	jobs    []activities.UpdatePolicyIn
	success map[rl.UpdateNumber]float64 // of evaluations
	corrupt map[rl.UpdateNumber]bool    // whose job finds its base damaged, once
	refusal error                       // of every rollout
	scored  map[int]int                 // members of each group that are scored, by round; nil: all
	trained int                         // tokens of a batch
	round   int
	rounds  []string          // UPDATE/ROUND+GROUPS asked for
	failing rl.UpdateNumber   // whose job fails, once
	ended   []rl.UpdateNumber // whose jobs were cancelled
	promote []rl.UpdateNumber
	events  []string
}

func manifest(n rl.UpdateNumber) rl.Ref { return rl.Ref{Key: fmt.Sprintf("ckpt/%d", n), SHA256: "x"} }

// environment is a test environment for a machine that is busy with other things.
func environment(s *testsuite.WorkflowTestSuite) *testsuite.TestWorkflowEnvironment {
	env := s.NewTestWorkflowEnvironment()
	env.SetTestTimeout(5 * time.Minute)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	return env
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var s testsuite.WorkflowTestSuite
	w := &world{env: environment(&s), success: map[rl.UpdateNumber]float64{}, corrupt: map[rl.UpdateNumber]bool{}, trained: 1}
	w.env.RegisterWorkflow(Collect)
	w.env.RegisterWorkflow(Evaluate)
	restored := 0
	w.env.OnActivity(stages.Restore, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.RestoreIn) (activities.RestoreOut, error) {
		restored++
		if restored == 1 {
			return activities.RestoreOut{Guard: rl.Guard{Scale: 1}}, nil
		}
		m := manifest(in.Update - 2)
		return activities.RestoreOut{Next: in.Update - 1, Base: &m, Current: in.Update - 2, Guard: rl.Guard{Scale: 1}, Skipped: []string{manifest(in.Update-1).Key + ": damaged"}}, nil
	})
	w.env.OnActivity(stages.SampleGroup, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.SampleGroupIn) (activities.SampleGroupOut, error) {
		if in.Evaluation == "" {
			name := fmt.Sprintf("%d/%d", in.Update, in.Round)
			if in.Round > 0 {
				name += fmt.Sprintf("+%d", in.Groups)
			}
			w.round, w.rounds = in.Round, append(w.rounds, name)
		}
		return activities.SampleGroupOut{Groups: 2}, nil
	})
	w.env.OnActivity(stages.Reopen, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.Stage) (activities.ReopenOut, error) {
		w.rounds = append(w.rounds, fmt.Sprintf("%d reopened", in.Update))
		return activities.ReopenOut{}, nil
	})
	w.env.OnActivity(stages.RunTrajectory, mock.Anything, mock.Anything).Return(func(context.Context, activities.RunTrajectoryIn) (activities.RunTrajectoryOut, error) {
		if played := w.played.Swap(nil); played != nil {
			(*played)()
		}
		return activities.RunTrajectoryOut{}, w.refusal
	})
	w.env.OnActivity(stages.JudgeGroup, mock.Anything, mock.Anything).Return(func(context.Context, activities.JudgeGroupIn) (activities.JudgeGroupOut, error) {
		if w.scored == nil {
			return activities.JudgeGroupOut{Scored: 2}, nil
		}
		return activities.JudgeGroupOut{Scored: w.scored[w.round]}, nil
	})
	w.env.OnActivity(stages.ComputeAdvantages, mock.Anything, mock.Anything).Return(func(context.Context, activities.ComputeAdvantagesIn) (activities.ComputeAdvantagesOut, error) {
		return activities.ComputeAdvantagesOut{TrainedTokens: w.trained}, nil
	})
	w.env.OnActivity(stages.UpdatePolicy, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.UpdatePolicyIn) (activities.UpdatePolicyOut, error) {
		if w.corrupt[in.Update] {
			delete(w.corrupt, in.Update)
			return activities.UpdatePolicyOut{}, temporal.NewNonRetryableApplicationError("a chunk is damaged", string(rl.Corrupt), nil)
		}
		if in.Update > 0 && in.Update == w.failing {
			w.failing = 0
			return activities.UpdatePolicyOut{}, temporal.NewNonRetryableApplicationError("update job x: attempt 1 failed: out of memory", string(rl.Refused), nil)
		}
		w.jobs = append(w.jobs, in)
		return activities.UpdatePolicyOut{}, nil
	})
	w.env.OnActivity(stages.CancelJob, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.Stage) error {
		w.ended = append(w.ended, in.Update)
		return nil
	})
	w.env.OnActivity(stages.Checkpoint, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.CheckpointIn) (rl.Ref, error) {
		return manifest(in.Update), nil
	})
	w.env.OnActivity(stages.Publish, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PublishIn) (activities.PublishOut, error) {
		for _, e := range in.Summary.Events {
			w.events = append(w.events, fmt.Sprintf("%d %s", in.Update, e.Kind))
		}
		return activities.PublishOut{New: true, Told: in.Summary.Events}, nil
	})
	w.env.OnActivity(stages.ScoreEvaluation, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.ScoreEvaluationIn) (activities.ScoreEvaluationOut, error) {
		r := rl.Rate{Mean: w.success[in.Update]}
		return activities.ScoreEvaluationOut{Greedy: r, Sampled: r}, nil
	})
	w.env.OnActivity(stages.Promote, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PromoteIn) error {
		w.promote = append(w.promote, in.Update)
		return nil
	})
	return w
}

func (w *world) train(t *testing.T, p Plan) {
	t.Helper()
	p.Size, p.PerActivity, p.EpisodeTimeout = 2, 2, time.Minute
	p.Guard.Promote, p.Guard.Updates = "success >= best - 0.01", p.Updates
	w.env.ExecuteWorkflow(Train, TrainIn{Logic: LogicVersion, Run: "r", Plan: p})
	if err := w.env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
}

// waits collects what the run says that it waits for.
func (w *world) waits() *[]string {
	var said []string
	w.env.OnUpsertMemo(mock.MatchedBy(func(memo map[string]any) bool {
		if f, ok := memo[WaitingMemo].(WaitingFor); ok && f.What != "" {
			said = append(said, f.Why)
		}
		return true
	})).Return(nil)
	return &said
}

func (w *world) bases() (out []string) {
	for _, j := range w.jobs {
		base := "-"
		if j.Base != nil {
			base = j.Base.Key
		}
		out = append(out, fmt.Sprintf("%d<%s*%g", j.Update, base, j.Scale))
	}
	return out
}

// Each update trains from the one before; the first has no base.
func TestEachUpdateTrainsFromTheLast(t *testing.T) {
	w := newWorld(t)
	w.train(t, Plan{Updates: 3})
	want := []string{"0<-*1", "1<ckpt/0*1", "2<ckpt/1*1", "3<ckpt/2*1"}
	if got := w.bases(); !slices.Equal(got, want) {
		t.Fatalf("jobs %v, want %v", got, want)
	}
}

// An evaluation below half of the best goes back to the best with half the learning rate, visibly, and at most
// twice; the third collapse goes on.
func TestCollapseGoesBackToTheBest(t *testing.T) {
	w := newWorld(t)
	w.success = map[rl.UpdateNumber]float64{0: .4, 1: .8, 2: .1, 3: .1, 4: .1, 5: .85}
	w.train(t, Plan{Updates: 5, EvalEvery: 1, Guard: rl.GuardRules{Collapse: .5, Retries: 2}})
	want := []string{"0<-*1", "1<ckpt/0*1", "2<ckpt/1*1", "3<ckpt/1*0.5", "4<ckpt/1*0.25", "5<ckpt/4*0.25"}
	if got := w.bases(); !slices.Equal(got, want) {
		t.Fatalf("jobs %v, want %v", got, want)
	}
	if want := []rl.UpdateNumber{0, 1, 5}; !slices.Equal(w.promote, want) {
		t.Fatalf("promoted %v, want %v", w.promote, want)
	}
	if want := []string{"3 collapse", "4 collapse", "5 collapse"}; !slices.Equal(w.events, want) {
		t.Fatalf("events %v, want %v", w.events, want)
	}
}

// A damaged base: the run goes on from the checkpoint before it and says so; the update in between is walked again.
func TestDamagedBaseFallsBack(t *testing.T) {
	w := newWorld(t)
	w.corrupt[3] = true
	w.train(t, Plan{Updates: 4})
	want := []string{"0<-*1", "1<ckpt/0*1", "2<ckpt/1*1", "2<ckpt/1*1", "3<ckpt/2*1", "4<ckpt/3*1"}
	if got := w.bases(); !slices.Equal(got, want) {
		t.Fatalf("jobs %v, want %v", got, want)
	}
	if want := []string{"2 checkpoint_fallback"}; !slices.Equal(w.events, want) {
		t.Fatalf("events %v, want %v", w.events, want)
	}
}

// A failure that no retry mends ends the run with the stage's own words.
func TestRefusalEndsTheRun(t *testing.T) {
	w := newWorld(t)
	w.refusal = temporal.NewNonRetryableApplicationError("policy http://gpu:8000: 401 bad key", string(rl.Refused), nil)
	w.env.ExecuteWorkflow(Train, TrainIn{Logic: LogicVersion, Run: "r", Plan: Plan{Updates: 1, Size: 2, PerActivity: 1, EpisodeTimeout: time.Minute}})
	err := w.env.GetWorkflowError()
	if err == nil || !strings.Contains(err.Error(), "401 bad key") || activities.KindOf(err) != rl.Refused {
		t.Fatalf("got %v (kind %q), want the refusal", err, activities.KindOf(err))
	}
}

// An update with too few groups to learn from samples further tasks. When that does not help, the run is paused and
// says why; resumed, it may try as often again.
func TestTooFewGroups(t *testing.T) {
	w := newWorld(t)
	w.scored = map[int]int{2: 2} // from round 2 on, all is well
	waits := w.waits()
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(Resume, "1", &testsuite.TestUpdateCallback{OnReject: func(err error) { t.Error(err) }, OnAccept: func() {}, OnComplete: func(any, error) {}}, Command{By: "tester"})
	}, time.Hour)
	w.train(t, Plan{Updates: 1, Quorum: .75, Valid: .25, Resample: 1})
	if want := []string{"1/0", "1/1+2", "1 reopened", "1/0", "1/1+2", "1/2+4"}; !slices.Equal(w.rounds, want) {
		t.Errorf("rounds %v, want %v", w.rounds, want)
	}
	if len(*waits) != 1 || (*waits)[0] != "paused by longhaul (0 of 4 groups reached the quorum, 1 are needed, after 1 rounds of further tasks; `longhaul show r/1` says what became of the rest) in the rollouts of update 1, between turns" {
		t.Errorf("waits %q", *waits)
	}
}

// An update job that fails for good pauses the run, which says why. Resumed, it is asked for again; cancelled, what may be left
// of it is ended first.
func TestFailedJobPausesTheRun(t *testing.T) {
	for command, ended := range map[string][]rl.UpdateNumber{Resume: nil, Cancel: {2}} {
		w := newWorld(t)
		w.failing = 2
		waits := w.waits()
		w.env.RegisterDelayedCallback(func() { w.env.UpdateWorkflowNoRejection(command, "1", t, Command{By: "tester"}) }, time.Hour)
		w.train(t, Plan{Updates: 2})
		if want := "paused by longhaul (update job x: attempt 1 failed: out of memory) in update 2, before its update job"; len(*waits) != 1 || (*waits)[0] != want {
			t.Errorf("%s: waits %q, want %q", command, *waits, want)
		}
		if !slices.Equal(w.ended, ended) || (len(w.jobs) == 3) != (command == Resume) {
			t.Errorf("%s: %d jobs are done, %v were cancelled, want %v", command, len(w.jobs), w.ended, ended)
		}
	}
}

// A job goes on while the run is paused, and while the resumed run walks the update up to it again: cancelled on the way there, it is
// ended, too.
func TestCancelledOnTheWayBackToItsJob(t *testing.T) {
	w := newWorld(t)
	w.failing = 1
	w.env.RegisterDelayedCallback(func() {
		cancel := func() { w.env.UpdateWorkflowNoRejection(Cancel, "2", t, Command{By: "tester"}) }
		w.played.Store(&cancel)
		w.env.UpdateWorkflowNoRejection(Resume, "1", t, Command{By: "tester"})
	}, time.Hour)
	w.train(t, Plan{Updates: 1})
	if len(w.jobs) != 1 || !slices.Equal(w.ended, []rl.UpdateNumber{1}) {
		t.Errorf("%d jobs are done, %v were cancelled", len(w.jobs), w.ended)
	}
}

// A run whose updates have nothing to train on does not go on for ever.
func TestNothingToTrainOn(t *testing.T) {
	w := newWorld(t)
	w.trained = 0
	waits := w.waits()
	w.env.RegisterDelayedCallback(func() {
		w.env.UpdateWorkflow(Cancel, "1", &testsuite.TestUpdateCallback{OnReject: func(err error) { t.Error(err) }, OnAccept: func() {}, OnComplete: func(any, error) {}}, Command{By: "tester"})
	}, time.Hour)
	w.train(t, Plan{Updates: 30})
	if got := len(w.jobs); got != 11 || len(*waits) != 1 || !strings.Contains((*waits)[0], "10 updates in a row had nothing to train on") {
		t.Errorf("%d jobs, waits %q", got, *waits)
	}
}

// A change is in effect from the first update that is not made yet, also where the run is paused in an evaluation.
func TestAChangeBeginsWithWhatIsNotMade(t *testing.T) {
	w := newWorld(t)
	var first []rl.UpdateNumber
	w.env.OnActivity(stages.Change, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.ChangeIn) error {
		first = append(first, in.Change.Update)
		return nil
	})
	w.env.OnWorkflow(Evaluate, mock.Anything, mock.Anything).After(time.Hour).Return(activities.ScoreEvaluationOut{}, nil)
	p := Plan{Updates: 2, EvalEvery: 2, Size: 2, PerActivity: 2, EpisodeTimeout: time.Minute, Guard: rl.GuardRules{Promote: "success >= best", Updates: 2}}
	tester := Command{By: "tester", Why: "to see"}
	for i, c := range []struct {
		name string
		arg  any
	}{{Pause, tester}, {Set, Setting{Command: tester, Config: rl.Ref{Key: "new"}, Plan: p}}, {Resume, tester}} {
		w.env.RegisterDelayedCallback(func() { w.env.UpdateWorkflowNoRejection(c.name, fmt.Sprint(i), t, c.arg) }, time.Duration(i+1)*time.Minute)
	}
	w.train(t, p)
	if want := []rl.UpdateNumber{1}; !slices.Equal(first, want) { // version 0 was being evaluated
		t.Errorf("in effect from %v, want %v", first, want)
	}
}

// A change that is asked for twice takes effect once, and is told once.
func TestTheSameChangeTwice(t *testing.T) {
	w := newWorld(t)
	changes := 0
	w.env.OnActivity(stages.Change, mock.Anything, mock.Anything).Return(func(context.Context, activities.ChangeIn) error {
		changes++
		return nil
	})
	p := Plan{Updates: 2, Size: 2, PerActivity: 2, EpisodeTimeout: time.Minute}
	for i := range 2 {
		w.env.RegisterDelayedCallback(func() {
			w.env.UpdateWorkflowNoRejection(Set, fmt.Sprint(i), t, Setting{Command: Command{By: "a", Why: "b"}, Text: "x: 1 -> 2", Config: rl.Ref{Key: "new"}, Plan: p})
		}, 0)
	}
	w.train(t, p)
	told := 0
	for _, e := range w.events {
		if strings.HasSuffix(e, " set") {
			told++
		}
	}
	if changes != 1 || told != 1 {
		t.Errorf("%d changes, %v", changes, w.events)
	}
}
