package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) watchCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "watch RUN", Short: "Follow a run live, from its first update on", GroupID: groupLook, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context(), want{Temporal: true})
			if err != nil {
				return err
			}
			defer c.Close()
			f, err := a.follower(cmd.Context(), c, rl.RunID(args[0]))
			if err == nil {
				_, err = f.follow(cmd.Context())
			}
			if err != nil && cmd.Context().Err() != nil {
				a.out.say("Detached; `longhaul watch %s%s` follows the run again.", args[0], a.dataFlag())
			}
			return err
		},
	})
}

// follower tells of a run's updates, evaluations and events as they come.
type follower struct {
	observer
	config rl.Config
	table  *updates
	next   rl.UpdateNumber // whose summary has not been told
	due    rl.UpdateNumber // whose evaluation has not been told
	recent []rl.UpdateSummary
	failed <-chan error               // a worker of this process ended by itself; may be nil
	over   func() error               // why what is followed will not answer again, nil when it may; may be nil
	full   func() string              // why there is no room to write, "" where there is; may be nil
	paused bool                       // as was told
	stages map[string]rl.UpdateNumber // that were told to wait, with the update
	isFull bool                       // as was told
	outage *outage                    // what does not answer now
}

// pollEvery is how often a follower looks.
const pollEvery = 400 * time.Millisecond

func (a *app) follower(ctx context.Context, c *conn, run rl.RunID) (*follower, error) {
	_, cfg, err := c.Store.Config(ctx, run)
	if rl.KindOf(err) == rl.NotFound {
		return nil, rl.Errorf(rl.NotFound, "run "+string(run), "no such run; `longhaul runs` lists them")
	}
	if err != nil {
		return nil, err
	}
	return &follower{
		observer: observer{client: c.Temporal, store: c.Store, run: run, scheduled: map[string]time.Time{}},
		config:   cfg, table: a.out.updates(cfg.Updates), over: func() error { return a.holderGone(c) }, full: func() string { return a.diskFull(c) },
	}, nil
}

// follow returns when the run has ended, with how it ended. What does not answer for a while is waited for: the
// workers of this process wait for it too.
func (f *follower) follow(ctx context.Context) (s runStatus, err error) {
	for {
		if s, err = f.status(ctx); err == nil {
			err = f.tell(ctx)
		}
		if err = f.wait(ctx, err); err != nil {
			return s, err
		}
		switch {
		case f.outage != nil:
		case s.State == workflows.Done:
			return s, nil
		case s.State == workflows.Cancelled:
			return s, fmt.Errorf("run %s was cancelled. It goes on from where it was when it is started again", f.run)
		case s.State == workflows.Failed:
			return s, fmt.Errorf("run %s failed: %s\nIt goes on from its newest checkpoint when it is started again", f.run, s.Failure)
		case s.State == stopped:
			return s, standsStill(s)
		default:
			f.pause(s)
			f.stuck(s)
			f.table.now("%s", liveLine(s))
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case err := <-f.failed:
			return s, err
		case <-time.After(pollEvery):
		}
	}
}

// tell writes what was finished since the last look: each update, and its evaluation before the next one.
func (f *follower) tell(ctx context.Context) error {
	for int(f.next) <= f.config.Updates {
		_, u, err := store.FindJSON[rl.UpdateSummary](ctx, f.store, store.SummaryKey(f.run, f.next))
		if rl.KindOf(err) == rl.NotFound {
			break
		}
		if err != nil {
			return err
		}
		if err := f.tellEvaluations(ctx); err != nil {
			return err
		}
		if err := f.summary(u); err != nil {
			return err
		}
		f.next++
	}
	return f.tellEvaluations(ctx)
}

// tellEvaluations writes the evaluations of the updates that were told of.
func (f *follower) tellEvaluations(ctx context.Context) error {
	plan := workflows.PlanOf(f.config)
	for ; f.due < f.next; f.due++ {
		if !plan.Evaluates(f.due) {
			continue
		}
		_, e, err := store.FindJSON[rl.Evaluation](ctx, f.store, store.EvaluationKey(f.run, f.due, plan.EvalKey))
		if rl.KindOf(err) == rl.NotFound {
			break
		}
		if err != nil {
			return err
		}
		if err := f.table.evaluation(e); err != nil {
			return err
		}
	}
	return nil
}

// summary tells of one update, with the events that led to it before it.
func (f *follower) summary(u rl.UpdateSummary) error {
	for _, e := range u.Events {
		if err := f.table.event(f.run, e); err != nil {
			return err
		}
	}
	if u.Update == 0 {
		return f.table.started(u)
	}
	f.recent = append(f.recent, u)
	f.recent = f.recent[max(0, len(f.recent)-rateWindow):]
	mean := 0.0
	for _, r := range f.recent {
		mean += r.Seconds.Total() / float64(len(f.recent))
	}
	left := time.Duration(mean * float64(f.config.Updates-int(u.Update)) * float64(time.Second))
	return f.table.done(u, left)
}

// liveLine says what is under way.
func liveLine(s runStatus) string {
	line := fmt.Sprintf("update %d/%d  %s", s.Update, s.Updates, stageWords(s.Stage))
	if s.Update == 0 && s.Stage == "UpdatePolicy" {
		line = "warm-up  imitating easy demonstrations"
	}
	if p := s.Progress; p != nil && p.Total > 0 {
		line += fmt.Sprintf("  %s %d/%d", p.What, p.Done, p.Total)
	} else if p != nil {
		line += fmt.Sprintf("  %d %s", p.Done, p.What)
	}
	if s.Job != nil {
		line += "  " + jobState(*s.Job)
	}
	if w := s.WaitingFor; w != nil && s.State == workflows.Paused {
		line = fmt.Sprintf("update %d/%d  waiting since %s, %s; `longhaul resume %s` lets it go on", s.Update, s.Updates, render.Duration(time.Since(w.Since)), w.Why, s.Run)
	} else if w != nil {
		line = fmt.Sprintf("update %d/%d  waiting for %s since %s: %s", s.Update, s.Updates, w.What, render.Duration(time.Since(w.Since)), w.Why)
	}
	return line
}

// stageWords is a stage as one would say it.
func stageWords(stage string) string {
	switch stage {
	case "SampleGroup":
		return "sampling tasks"
	case "Collect":
		return "rolling out and judging"
	case "ComputeAdvantages":
		return "computing advantages"
	case "UpdatePolicy":
		return "training"
	case "Checkpoint":
		return "writing the checkpoint"
	case "Publish":
		return "publishing the version"
	case "Evaluate":
		return "evaluating on held-out tasks"
	case "Restore":
		return "finding the newest checkpoint"
	}
	return stage
}
