package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// jobWatch is an update job of its own, seen from the stage that waits for it (docs/decisions/jobs.md). The stage keeps
// nothing that the store and the launcher do not: when its worker stops or dies, the job goes on and the next one watches.
type jobWatch struct {
	store    *store.Store
	config   rl.UpdateConfig
	launcher launch.Launcher
	job      launch.Job
	enter    func(context.Context) (leave func(), err error) // the place where it runs: its GPU is lent, and it may have room for one alone
	withdraw func(ctx context.Context, job string) error     // gives a job's GPU back to whoever lent it
	kept     rl.JobRecord
}

// watch finds a job's launcher and notes which job makes the update.
func (a *Activities) watch(ctx context.Context, in Stage, st *store.Store, cfg rl.Config, key string) (*jobWatch, error) {
	launcher, err := cached(ctx, a, &a.launchers, in.Config.SHA256, func() (launch.Launcher, error) { return launch.Open(cfg.Update, a.Jobs) })
	if err != nil {
		return nil, err
	}
	w := &jobWatch{store: st, config: cfg.Update, launcher: launcher}
	w.job = launch.Job{Run: in.Run, Update: in.Update, Key: key, Spec: st.URI(store.JobSpecKey(key)), Env: st.Env()}
	w.job.Env["LONGHAUL_SPEC_URI"] = w.job.Spec
	w.withdraw = func(ctx context.Context, job string) error { return a.withdrawLoan(ctx, in, st, job) }
	w.enter = func(ctx context.Context) (func(), error) { return a.lend(ctx, in, st, cfg) }
	if cfg.Update.Use == "local" {
		w.enter = func(ctx context.Context) (func(), error) { return a.enterLent(ctx, in, st, cfg) }
	}
	w.kept = rl.JobRecord{Schema: rl.JobRecordSchema, Key: key, Launcher: cfg.Update.Use, Name: w.job.Name()}
	if err := w.replace(ctx); err != nil {
		return nil, err
	}
	_, err = st.Put(ctx, store.JobRecordKey(in.Run, in.Update), rl.CanonicalJSON(w.kept))
	return w, err
}

// launched has a job of its own do its work, unless it is done, and says what that took.
func (a *Activities) launched(ctx context.Context, in Stage, st *store.Store, cfg rl.Config, job string) (ref rl.Ref, r rl.UpdateResult, use *rl.JobUse, err error) {
	w, err := a.watch(ctx, in, st, cfg, job)
	if err != nil {
		return ref, r, nil, err
	}
	ref, r, err = whole(ctx, st, job)
	if rl.KindOf(err) == rl.Corrupt { // the job would take it for its own
		if err := w.forget(ctx); err != nil {
			return ref, r, nil, err
		}
	}
	if absent(err) {
		ref, r, err = w.result(ctx)
	} else if err == nil {
		err = w.over(ctx)
	}
	if err == nil {
		use, err = w.use(ctx, r)
	}
	return ref, r, use, err
}

// over waits for the end of a job whose result is there already, so that what it took is known.
func (w *jobWatch) over(ctx context.Context) error {
	for {
		s, err := w.launcher.Poll(ctx, w.job)
		switch {
		case err != nil:
			return err
		case s.Ended():
			return w.note(ctx, s)
		case s.State == launch.Absent:
			return nil
		}
		if err := w.tell(ctx, s); err != nil {
			return err
		}
		if err := rest(ctx, soonest); err != nil {
			return err
		}
	}
}

// rest sleeps; the error is ctx's own.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The first look at a job that was just started comes soon, and later ones less often.
const (
	soonest = 50 * time.Millisecond
	latest  = 3 * time.Second
)

// result starts the job unless it runs, and waits for what it records. An attempt of the stage starts one attempt of the
// job at most: when that is lost, the stage fails, and Temporal's next attempt starts the next. So a job that does not
// get done is on view as any stage is that waits for its next try. One that has failed for good is started again where
// the stage is asked for anew: somebody has resumed the run.
func (w *jobWatch) result(ctx context.Context) (ref rl.Ref, r rl.UpdateResult, err error) {
	leave, err := w.enter(ctx)
	if err != nil {
		return ref, r, err
	}
	defer leave()
	started, there := 0, false // the attempt that this one has asked for; whether the job was seen
	for pause := soonest; ; pause = min(pause*3/2, latest) {
		s, err := w.launcher.Poll(ctx, w.job)
		if err != nil {
			return ref, r, err
		}
		if s.Ended() {
			if err := w.note(ctx, s); err != nil {
				return ref, r, err
			}
			if ref, r, err := w.found(ctx); !absent(err) {
				return ref, r, err
			}
		}
		again := activity.GetInfo(ctx).Attempt > 1
		switch {
		case s.State == launch.Queued, s.State == launch.Running:
			there = true
			if err := w.tell(ctx, s); err != nil {
				return ref, r, err
			}
		case there && s.State == launch.Absent: // cancelled, in a place that forgets what it cancels
			return ref, r, rl.Errorf(rl.Unavailable, w.at(), "it is gone: somebody has removed it")
		case started > 0 && s.Attempt >= started, s.State == launch.Failed && again:
			return ref, r, w.failure(ctx, s)
		default:
			if started, err = w.next(ctx, s); err != nil {
				return ref, r, err
			}
			if err := w.launcher.Ensure(ctx, w.job, started); err != nil {
				return ref, r, err
			}
			pause = soonest
		}
		if err := rest(ctx, pause); err != nil { // the job goes on
			return ref, r, err
		}
	}
}

// found is the job's result. What is there and damaged makes way for the next attempt's: Corrupt.
func (w *jobWatch) found(ctx context.Context) (rl.Ref, rl.UpdateResult, error) {
	ref, r, err := w.store.JobResult(ctx, w.job.Key)
	if err == nil {
		err = w.store.KeepResult(ctx, w.job.Key, r)
	}
	if rl.KindOf(err) == rl.Corrupt {
		if err := w.forget(ctx); err != nil {
			return ref, r, err
		}
	}
	return ref, r, err
}

// forget removes a result that is damaged.
func (w *jobWatch) forget(ctx context.Context) error {
	return w.store.Delete(ctx, store.JobResultKey(w.job.Key))
}

// tell passes on how far the job is, and ends one that takes too long.
func (w *jobWatch) tell(ctx context.Context, s launch.Status) error {
	p := Progress{What: "updates queued", Total: 1}
	if s.State == launch.Running {
		p.What = "updates"
		if told, err := w.progress(ctx, s.Attempt); err != nil {
			return err
		} else if told.Total > 0 {
			p.What, p.Done, p.Total = told.What, told.Done, told.Total
		}
	}
	p.Job = &rl.JobStatus{
		Launcher: w.kept.Launcher, Name: w.kept.Name, State: string(s.State), Attempt: s.Attempt, Identity: s.Identity,
		Why: s.Why, QueuedSeconds: s.Queued.Seconds(), RanSeconds: s.Ran.Seconds(),
	}
	tellAs(ctx, p)
	if w.overdue(s) {
		if err := w.cancel(ctx); err != nil {
			return err
		}
		return rl.Errorf(rl.Exhausted, w.at(), "attempt %d has run for %v, longer than update.timeout, %v, and was ended", s.Attempt, s.Ran.Round(time.Second), time.Duration(w.config.Timeout))
	}
	return nil
}

func (w *jobWatch) at() string { return fmt.Sprintf("update job %s", w.kept.Name) }
