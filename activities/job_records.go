package activities

import (
	"context"

	"github.com/longhaul-rl/longhaul/infra/launch"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

// progress is what an attempt has told of itself; zero: nothing yet.
func (w *jobWatch) progress(ctx context.Context, attempt int) (rl.JobProgress, error) {
	_, p, _, err := recorded[rl.JobProgress](ctx, w.store, store.JobProgressKey(w.job.Key))
	if p.Attempt != attempt {
		p = rl.JobProgress{}
	}
	return p, err
}

// note records how an attempt ended, and what it wrote. It may be asked again.
func (w *jobWatch) note(ctx context.Context, s launch.Status) error {
	if _, err := w.store.Head(ctx, store.JobAttemptKey(w.job.Key, s.Attempt)); rl.KindOf(err) != rl.NotFound {
		return err
	}
	wrote, err := w.wrote(ctx)
	if err != nil {
		return err
	}
	return w.keep(ctx, s, wrote)
}

// wrote is the end of the last attempt's log; nil where none is known.
func (w *jobWatch) wrote(ctx context.Context) ([]byte, error) {
	logs, err := w.launcher.Logs(ctx, w.job)
	if rl.KindOf(err) == rl.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	return tail(logs, logLimit)
}

// keep writes what is to be known of an attempt that is over: its log, where there is one, and then its record.
func (w *jobWatch) keep(ctx context.Context, s launch.Status, log []byte) error {
	if log != nil {
		if _, _, err := w.store.PutFirst(ctx, store.JobLogKey(w.job.Key, s.Attempt), log); err != nil {
			return err
		}
	}
	_, _, err := store.PutJSON(ctx, w.store, store.JobAttemptKey(w.job.Key, s.Attempt), rl.JobAttempt{
		Schema: rl.JobAttemptSchema, Attempt: s.Attempt, State: string(s.State), Exit: s.Exit, Why: s.Why, Identity: s.Identity,
		QueuedSeconds: s.Queued.Seconds(), RanSeconds: s.Ran.Seconds(), BilledSeconds: s.Billed.Seconds(),
	})
	return err
}
