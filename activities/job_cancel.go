package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// CancelJob cancels the job that makes an update, if it is one of its own and under way, and returns once it no longer
// runs, and policy servers that lent it their GPU have that again.
func (a *Activities) CancelJob(ctx context.Context, in Stage) error {
	defer beat(ctx)()
	return temporalError(ctx, a.cancelJob(ctx, in))
}

func (a *Activities) cancelJob(ctx context.Context, in Stage) error {
	st, cfg, err := a.open(ctx, in)
	if err != nil || cfg.Update.Use == embeddedTrainer || cfg.Update.Use == tinkered { // which is the stage's own work
		return err
	}
	_, kept, ok, err := recorded[rl.JobRecord](ctx, st, store.JobRecordKey(in.Run, in.Update))
	if err != nil || !ok {
		return err
	}
	w, err := a.watch(ctx, in, st, cfg, kept.Key)
	if err != nil {
		return err
	}
	if err := w.cancel(ctx); err != nil {
		return err
	}
	return w.withdraw(ctx, kept.Key)
}

// cancel ends the job, and records what it had come to. A cluster forgets what it cancels: so it is asked before, too.
func (w *jobWatch) cancel(ctx context.Context) error {
	was, err := w.launcher.Poll(ctx, w.job)
	if err != nil || was.State == launch.Absent {
		return err
	}
	wrote, err := w.wrote(ctx)
	if err != nil {
		return err
	}
	if err := w.launcher.Cancel(ctx, w.job); err != nil {
		return err
	}
	now, err := w.launcher.Poll(ctx, w.job)
	switch {
	case err != nil:
		return err
	case now.State != launch.Absent:
		return w.note(ctx, now)
	case !was.Ended():
		was.State, was.Exit, was.Why = launch.Lost, -1, "cancelled"
	}
	return w.keep(ctx, was, wrote)
}

// replace ends the job that was to make the update before this one: settings were changed while it ran, nobody waits for it any
// more, and it has the machine still, and the GPU of the policy servers that the run had then.
func (w *jobWatch) replace(ctx context.Context) error {
	_, was, ok, err := recorded[rl.JobRecord](ctx, w.store, store.JobRecordKey(w.job.Run, w.job.Update))
	if err != nil || !ok || was.Key == w.kept.Key || was.Launcher != w.kept.Launcher {
		return err
	}
	old := *w
	old.kept = was
	old.job.Key, old.job.Spec = was.Key, w.store.URI(store.JobSpecKey(was.Key))
	if err := old.cancel(ctx); err != nil {
		return err
	}
	return w.withdraw(ctx, was.Key)
}

// next is the number of the attempt to start: after the last that the launcher knows or, where it has forgotten, that is
// on record.
func (w *jobWatch) next(ctx context.Context, s launch.Status) (int, error) {
	n := s.Attempt
	all, err := w.store.JobAttempts(ctx, w.job.Key)
	for _, t := range all {
		n = max(n, t.Attempt)
	}
	return n + 1, err
}
