package workers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// Timing is when a schedule starts something.
type Timing struct {
	Cron    string        // in UTC unless it begins with CRON_TZ=; empty: Every
	Every   time.Duration // from 1 s on
	Jitter  time.Duration // each start is late by a random time up to this
	Overlap string        // what happens when the one before still runs; see Overlaps
	Catchup time.Duration // a start that was missed, since nothing ran, is made up for within this time; from 10 s on
}

// words are the times for people.
func (t Timing) words() string {
	w := "every " + t.Every.String()
	if t.Cron != "" {
		w = "cron " + t.Cron
	}
	if t.Jitter > 0 {
		w += ", up to " + t.Jitter.String() + " late"
	}
	return w
}

var overlaps = map[string]enumspb.ScheduleOverlapPolicy{
	"skip":            enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
	"buffer_one":      enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	"buffer_all":      enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
	"cancel_other":    enumspb.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER,
	"terminate_other": enumspb.SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER,
	"allow_all":       enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
}

// Overlaps are the names of Temporal's overlap policies.
func Overlaps() []string { return slices.Sorted(maps.Keys(overlaps)) }

// scheduleID is Temporal's id of a schedule: others may have schedules in the same namespace.
func scheduleID(name string) string { return "longhaul/" + name }

// CreateSchedule makes Temporal start what s says, at the times that t says, on the store. Errors: Invalid for a name, a
// timing or a run that cannot be, NotFound when what is to be evaluated is not there, Conflict when the name is taken.
func CreateSchedule(ctx context.Context, c client.Client, st *store.Store, uri string, s rl.Schedule, t Timing) error {
	s.Schema, s.When = rl.ScheduleSchema, t.words()
	if err := checkSchedule(ctx, st, s, t); err != nil {
		return err
	}
	body := rl.CanonicalJSON(s)
	ref, err := st.PutNew(ctx, store.ScheduleKey(s.Name, store.SHA256(body)), body)
	if err != nil {
		return err
	}
	spec := client.ScheduleSpec{Jitter: t.Jitter}
	if t.Cron != "" {
		spec.CronExpressions = []string{t.Cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: t.Every}}
	}
	memo := map[string]any{workflows.StoreMemo: st.String()}
	_, err = c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: scheduleID(s.Name), Spec: spec, Overlap: overlaps[t.Overlap], CatchupWindow: t.Catchup, Memo: memo,
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.ScheduledID(s.Name), Workflow: workflows.Scheduled, TaskQueue: workflows.ControlQueue, Memo: memo,
			Args: []any{workflows.ScheduledIn{Store: uri, Schedule: ref}},
		},
	})
	err = scheduleError(s.Name, err)
	if rl.KindOf(err) == rl.Invalid {
		return errors.Join(err, st.Delete(ctx, ref.Key))
	}
	return err
}

// checkSchedule finds what is wrong before anything is written.
func checkSchedule(ctx context.Context, st *store.Store, s rl.Schedule, t Timing) error {
	at := "schedule " + s.Name
	_, known := overlaps[t.Overlap]
	switch {
	case !rl.RunID(s.Name).Valid():
		return rl.Errorf(rl.Invalid, at, "a name is 1 to 63 of a-z 0-9 . _ - and starts with a letter or a digit")
	case (t.Cron == "") == (t.Every == 0):
		return rl.Errorf(rl.Invalid, at, "it needs either a cron expression or an interval")
	case t.Cron == "" && t.Every < time.Second:
		return rl.Errorf(rl.Invalid, at, "an interval of %s is too short: from 1s on", t.Every)
	case t.Jitter < 0:
		return rl.Errorf(rl.Invalid, at, "a jitter of %s is negative", t.Jitter)
	case t.Catchup < 10*time.Second:
		return rl.Errorf(rl.Invalid, at, "a catch-up window of %s is too short: from 10s on", t.Catchup)
	case !known:
		return rl.Errorf(rl.Invalid, at, "there is no overlap policy %q; there are %s", t.Overlap, strings.Join(Overlaps(), ", "))
	case s.Run != nil && len(s.Run.Name) > rl.MaxScheduledName:
		return rl.Errorf(rl.Invalid, at, "the run's name %q has more than %d letters: the time of each start follows it", s.Run.Name, rl.MaxScheduledName)
	}
	if s.Run != nil {
		return nil
	}
	run, n, err := evaluatedVersion(ctx, st, s.Evaluate)
	if err != nil {
		return err
	}
	if _, _, err = st.FindCheckpoint(ctx, run, n); rl.KindOf(err) == rl.NotFound {
		err = rl.Errorf(rl.NotFound, "version "+string(rl.VersionOf(run, n)), "there is no such checkpoint")
	}
	return err
}

// TriggerSchedule starts now what the schedule starts, as far as its overlap policy allows. Errors: NotFound.
func TriggerSchedule(ctx context.Context, c client.Client, name string) error {
	return scheduleError(name, c.ScheduleClient().GetHandle(ctx, scheduleID(name)).Trigger(ctx, client.ScheduleTriggerOptions{}))
}

// PauseSchedule makes a schedule start nothing until UnpauseSchedule; the note says why. What it started goes on.
// Errors: NotFound.
func PauseSchedule(ctx context.Context, c client.Client, name, note string) error {
	return scheduleError(name, c.ScheduleClient().GetHandle(ctx, scheduleID(name)).Pause(ctx, client.SchedulePauseOptions{Note: note}))
}

// UnpauseSchedule lets a schedule start things again. Errors: NotFound.
func UnpauseSchedule(ctx context.Context, c client.Client, name, note string) error {
	return scheduleError(name, c.ScheduleClient().GetHandle(ctx, scheduleID(name)).Unpause(ctx, client.ScheduleUnpauseOptions{Note: note}))
}

// DeleteSchedule removes a schedule. What it started goes on. Errors: NotFound.
func DeleteSchedule(ctx context.Context, c client.Client, st *store.Store, name string) error {
	h := c.ScheduleClient().GetHandle(ctx, scheduleID(name))
	if _, err := h.Describe(ctx); err != nil { // one that was deleted answers Delete for a while
		return scheduleError(name, err)
	}
	if err := scheduleError(name, h.Delete(ctx)); err != nil {
		return err
	}
	for o, err := range st.List(ctx, store.SchedulePrefix(name)) {
		if err == nil {
			err = st.Delete(ctx, o.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scheduleError names the schedule in what Temporal says.
func scheduleError(name string, err error) error {
	at := "schedule " + name
	if err == nil {
		return nil
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return rl.Errorf(rl.NotFound, at, "there is no such schedule; `longhaul schedule list` lists them")
	}
	if e, bad := errors.AsType[*serviceerror.InvalidArgument](err); bad {
		return rl.Errorf(rl.Invalid, at, "%s", e.Message)
	}
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return rl.Errorf(rl.Conflict, at, "it exists; `longhaul schedule delete %s` removes it", name)
	}
	return rl.Errorf(rl.Unavailable, at, "%w", err)
}
