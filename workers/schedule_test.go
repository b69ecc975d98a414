package workers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longhaul-rl/longhaul/infra/dev"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

// begin is a run of a second: an initial policy that is not trained.
func begin(t *testing.T) *rl.Config {
	t.Helper()
	cfg := small(t)
	cfg.Name, cfg.Updates, cfg.Eval.Every, cfg.WarmUp.Max = "nightly", 0, 0, 1
	return &cfg
}

// seldom is an interval of which none ends while a test is at work, though they are counted from 1970 on.
const seldom = 10_000 * time.Hour

func (l *line) schedule(t *testing.T, s rl.Schedule, timing workers.Timing) error {
	t.Helper()
	if timing.Overlap == "" {
		timing.Overlap = "skip"
	}
	if timing.Catchup == 0 {
		timing.Catchup = time.Minute
	}
	return workers.CreateSchedule(t.Context(), l.client, l.store, l.uri, s, timing)
}

// until waits for a schedule to be in a state.
func (l *line) until(t *testing.T, name, what string, is func(workers.ScheduleState) bool) workers.ScheduleState {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		s, err := workers.Schedule(t.Context(), l.client, l.store, name)
		if err != nil {
			t.Fatal(err)
		}
		if is(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: waiting until %s: %+v", name, what, s)
		}
	}
}

// A schedule starts runs, each under a name of its own that says when it was due, from what was the best then; it is
// triggered, paused, let go on and deleted by hand.
func TestScheduleStartsRuns(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	first := small(t)
	first.Updates = 0
	first.Name = "first"
	l.run(t, first)
	cfg := begin(t)
	cfg.From = "best(first)"
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: cfg}, workers.Timing{Every: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	s := l.until(t, "s", "two runs are started", func(s workers.ScheduleState) bool { return len(s.Past) >= 2 })
	if s.Starts != "run nightly" || s.When != "every 2s" || s.Overlap != "skip" || len(s.Next) == 0 || !s.Next[0].After(s.Past[1].Due) {
		t.Errorf("%+v", s)
	}
	for _, p := range s.Past[:2] {
		if want := "nightly-" + p.Due.Format("20060102t150405z"); string(p.Run) != want || !strings.HasPrefix(p.Workflow, "scheduled/s-") {
			t.Errorf("%+v, want run %s", p, want)
		}
		var out workflows.ScheduledOut
		if err := l.client.GetWorkflow(t.Context(), p.Workflow, "").Get(t.Context(), &out); err != nil || out != (workflows.ScheduledOut{Workflow: workflows.TrainID(p.Run), State: workflows.Done}) {
			t.Errorf("%s ended with %+v, %v", p.Workflow, out, err)
		}
		_, begun, err := l.store.FindCheckpoint(t.Context(), p.Run, 0)
		if err != nil || begun.Parent == nil || begun.Parent.Key != store.CheckpointKey("first", 0) {
			t.Errorf("%s begins with %+v, %v", p.Run, begun.Parent, err)
		}
	}
	if err := workers.PauseSchedule(t.Context(), l.client, "s", "the cluster is full"); err != nil {
		t.Fatal(err)
	}
	s = l.until(t, "s", "nothing runs", func(s workers.ScheduleState) bool { return s.Paused && len(s.Running) == 0 })
	if s.Note != "the cluster is full" || len(s.Next) > 0 {
		t.Errorf("paused: %+v", s)
	}
	newest := func(s workers.ScheduleState) string { return s.Past[len(s.Past)-1].Workflow } // of the last ten
	paused := newest(s)
	time.Sleep(3 * time.Second)
	if s = l.until(t, "s", "it is there", func(workers.ScheduleState) bool { return true }); newest(s) != paused {
		t.Errorf("paused, it went on: %+v", s.Past)
	}
	if err := workers.TriggerSchedule(t.Context(), l.client, "s"); err != nil {
		t.Fatal(err)
	}
	triggered := newest(l.until(t, "s", "the triggered run is started", func(s workers.ScheduleState) bool { return newest(s) != paused }))
	if err := workers.UnpauseSchedule(t.Context(), l.client, "s", ""); err != nil {
		t.Fatal(err)
	}
	l.until(t, "s", "it goes on", func(s workers.ScheduleState) bool { return newest(s) != triggered })
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: cfg}, workers.Timing{Every: seldom}); rl.KindOf(err) != rl.Conflict || !strings.Contains(err.Error(), "schedule s: it exists") {
		t.Errorf("the name again: %v", err)
	}
	if err := workers.DeleteSchedule(t.Context(), l.client, l.store, "s"); err != nil {
		t.Fatal(err)
	}
	if all, err := workers.Schedules(t.Context(), l.client, l.store); err != nil || len(all) > 0 {
		t.Errorf("deleted, it is listed: %+v, %v", all, err)
	}
	for what, err := range map[string]error{
		"trigger": workers.TriggerSchedule(t.Context(), l.client, "none"),
		"pause":   workers.PauseSchedule(t.Context(), l.client, "none", ""),
		"unpause": workers.UnpauseSchedule(t.Context(), l.client, "none", ""),
		"delete":  workers.DeleteSchedule(t.Context(), l.client, l.store, "none"),
	} {
		if rl.KindOf(err) != rl.NotFound || !strings.Contains(err.Error(), "schedule none: there is no such schedule") {
			t.Errorf("%s of a schedule that is not there: %v", what, err)
		}
	}
}

// With overlap skip, a start that is due while the one before still runs is left out.
func TestScheduleSkipsWhatOverlaps(t *testing.T) {
	l := start(t, t.TempDir()) // nobody works: what is started stays running
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Every: time.Second}); err != nil {
		t.Fatal(err)
	}
	s := l.until(t, "s", "three starts are skipped", func(s workers.ScheduleState) bool { return s.Skipped >= 3 })
	if len(s.Past) != 1 || len(s.Running) != 1 || s.Running[0] != s.Past[0].Workflow {
		t.Errorf("%+v", s)
	}
}

// A start that takes the place of the one before ends the run that that one started.
func TestScheduleEndsWhatOverlaps(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	cfg := begin(t)
	cfg.Updates = 900
	for overlap, want := range map[string]string{"cancel_other": "canceled", "terminate_other": "terminated"} {
		cfg.Name = rl.RunID(want)
		if err := l.schedule(t, rl.Schedule{Name: want, Run: cfg}, workers.Timing{Every: seldom, Overlap: overlap}); err != nil {
			t.Fatal(err)
		}
		trigger := func() {
			if err := workers.TriggerSchedule(t.Context(), l.client, want); err != nil {
				t.Fatal(err)
			}
		}
		trigger()
		first := l.until(t, want, "one is started", func(s workers.ScheduleState) bool { return len(s.Past) == 1 }).Past[0]
		l.await(t, store.CheckpointKey(first.Run, 0))
		time.Sleep(time.Second) // the second in which a run is due is in its name
		trigger()
		s := l.until(t, want, "the first start has ended", func(s workers.ScheduleState) bool { return len(s.Past) > 1 && s.Past[0].State == want })
		err := l.client.GetWorkflow(t.Context(), workflows.TrainID(s.Past[0].Run), "").Get(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the run ended with %v", overlap, err)
		}
		if err := workers.DeleteSchedule(t.Context(), l.client, l.store, want); err != nil {
			t.Fatal(err)
		}
	}
}

// What was due while no process was there is made up for within the catch-up window, under the names of when it was due.
func TestScheduleCatchesUp(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, 2)
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Every: 2 * time.Second, Overlap: "buffer_all", Catchup: 10 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	l.until(t, "s", "one is started", func(s workers.ScheduleState) bool { return len(s.Past) > 0 })
	l.close()
	down := time.Now()
	time.Sleep(5 * time.Second)
	up := time.Now()
	l = open(t, dir, 2)
	s := l.until(t, "s", "what was missed is made up for", func(s workers.ScheduleState) bool {
		return slices.ContainsFunc(s.Past, func(p workers.ScheduledStart) bool {
			return p.Due.After(down) && p.Due.Before(up) && p.Started.After(up)
		})
	})
	if s.Missed > 0 {
		t.Errorf("%+v", s)
	}
}

// A schedule of evaluations plays the newest version; each is found again when nothing is new.
func TestScheduleStartsEvaluations(t *testing.T) {
	l := open(t, t.TempDir(), 2)
	first := small(t)
	first.Name, first.Updates, first.Eval.Every = "first", 0, 0
	l.run(t, first)
	if err := l.schedule(t, rl.Schedule{Name: "s", Evaluate: "first"}, workers.Timing{Every: seldom}); err != nil {
		t.Fatal(err)
	}
	if err := workers.TriggerSchedule(t.Context(), l.client, "s"); err != nil {
		t.Fatal(err)
	}
	l.await(t, store.EvaluationKey("first", 0, workflows.EvaluationKey(first)))
	s := l.until(t, "s", "it has ended", func(s workers.ScheduleState) bool { return len(s.Past) == 1 && len(s.Running) == 0 })
	if s.Starts != "evaluation of first" || s.Past[0].Run != "" {
		t.Errorf("%+v", s)
	}
}

// What cannot be is refused before anything is written, and says what.
func TestScheduleThatCannotBe(t *testing.T) {
	l := start(t, t.TempDir())
	long := begin(t)
	long.Name = rl.RunID(strings.Repeat("a", 47))
	for _, c := range []struct {
		s      rl.Schedule
		timing workers.Timing
		kind   rl.Kind
		says   string
	}{
		{rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Cron: "every day"}, rl.Invalid, "schedule s: "},
		{rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Every: time.Minute, Overlap: "queue"}, rl.Invalid, `no overlap policy "queue"; there are allow_all, buffer_all,`},
		{rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{}, rl.Invalid, "either a cron expression or an interval"},
		{rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Every: time.Millisecond}, rl.Invalid, "from 1s on"},
		{rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Every: time.Minute, Catchup: time.Second}, rl.Invalid, "catch-up window of 1s"},
		{rl.Schedule{Name: "S/", Run: begin(t)}, workers.Timing{Every: time.Minute}, rl.Invalid, "schedule S/: a name is"},
		{rl.Schedule{Name: "s", Run: long}, workers.Timing{Every: time.Minute}, rl.Invalid, "more than 46 letters"},
		{rl.Schedule{Name: "s", Evaluate: "nobody"}, workers.Timing{Every: time.Minute}, rl.NotFound, "run nobody: "},
		{rl.Schedule{Name: "s", Evaluate: "nobody@3"}, workers.Timing{Every: time.Minute}, rl.NotFound, "version nobody@000003: "},
	} {
		if err := l.schedule(t, c.s, c.timing); rl.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %s: %s", c.timing, err, c.kind, c.says)
		}
	}
	if all, err := workers.Schedules(t.Context(), l.client, l.store); err != nil || len(all) > 0 {
		t.Errorf("%+v %v", all, err)
	}
	other, err := l.openStore(t.Context(), "s3://"+dev.Bucket+"/other")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.schedule(t, rl.Schedule{Name: "s", Run: begin(t)}, workers.Timing{Cron: "17 4 * * *"}); err != nil {
		t.Fatal(err)
	}
	if all, err := workers.Schedules(t.Context(), l.client, other); err != nil || len(all) > 0 {
		t.Errorf("on another store: %+v %v", all, err)
	}
	s := l.until(t, "s", "it is there", func(workers.ScheduleState) bool { return true })
	if s.When != "cron 17 4 * * *" || len(s.Next) == 0 || s.Next[0].Minute() != 17 || s.Next[0].UTC().Hour() != 4 {
		t.Errorf("%+v", s)
	}
}
