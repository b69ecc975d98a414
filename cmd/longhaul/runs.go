package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// runLine is one run of `runs --json`.
type runLine struct {
	Run     rl.RunID        `json:"run"`
	State   string          `json:"state"` // running, paused, done, failed, cancelled; stopped: no process works on it
	Env     string          `json:"env"`
	Update  rl.UpdateNumber `json:"update"` // the last that is done
	Updates int             `json:"updates"`
	Success *float64        `json:"success"` // of that update's episodes; null before the first
	Version rl.Version      `json:"version,omitempty"`
	Time    *time.Time      `json:"time"` // when that update was done
}

func (a *app) runsCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:     "runs",
		GroupID: groupLook,
		Short:   "List the runs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			if c.Temporal != nil {
				if err := c.reachTemporal(cmd.Context(), a); err != nil {
					return err
				}
			}
			return a.runs(cmd.Context(), c)
		},
	})
}

func (a *app) runs(ctx context.Context, c *conn) error {
	ids, err := c.Store.Runs(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"RUN", "STATE", "UPDATE", "SUCCESS", "ENVIRONMENT", "LAST UPDATE"}}
	for _, id := range ids {
		l, err := describeRun(ctx, c, id)
		if err != nil {
			return err
		}
		if a.out.json {
			if err := a.out.object(l); err != nil {
				return err
			}
			continue
		}
		row := []string{string(l.Run), l.State, fmt.Sprintf("%d/%d", l.Update, l.Updates), "-", l.Env, "-"}
		if l.Success != nil {
			row[3] = fmt.Sprintf("%.3f", *l.Success)
		}
		if l.Time != nil {
			row[5] = l.Time.Local().Format("2006-01-02 15:04:05")
		}
		rows = append(rows, row)
	}
	switch {
	case a.out.json:
	case len(ids) == 0:
		a.out.say("no runs yet; `longhaul demo` makes one")
	default:
		a.out.rows(rows)
	}
	return nil
}

func describeRun(ctx context.Context, c *conn, id rl.RunID) (l runLine, err error) {
	l = runLine{Run: id, State: string(stopped)}
	_, cfg, err := c.Store.Config(ctx, id)
	if k := rl.KindOf(err); k == rl.NotFound || k == rl.Corrupt {
		l.State = "damaged: no config" // verify says more
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.Env, l.Updates = cfg.Env.Use, cfg.Updates
	last, err := newest(ctx, c.Store, id)
	if err != nil {
		return l, err
	}
	if last != nil {
		l.Update, l.Version, l.Time = last.Update, last.Version, &last.Time
		if last.Update > 0 {
			l.Success = &last.Success
		}
		if int(last.Update) >= cfg.Updates {
			l.State = "done"
		}
	}
	l.State, err = liveState(ctx, c, id, l.State)
	return l, err
}

// newest is the summary of the last update that is done, nil when none is. Summaries are written in order, so the
// newest checkpoint's update or the one before has it.
func newest(ctx context.Context, s *store.Store, run rl.RunID) (*rl.UpdateSummary, error) {
	all, err := updatesDone(ctx, s, run)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	_, u, err := store.FindJSON[rl.UpdateSummary](ctx, s, store.SummaryKey(run, all[len(all)-1]))
	if err != nil {
		return nil, err
	}
	return &u, nil
}

// liveState is what Temporal says of a run, or else when there is none or it does not know the run.
func liveState(ctx context.Context, c *conn, id rl.RunID, stored string) (string, error) {
	if c.Temporal == nil {
		return stored, nil
	}
	d, err := c.Temporal.DescribeWorkflowExecution(ctx, workflows.TrainID(id), "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return stored, nil
	}
	if err != nil {
		return "", err
	}
	return string(stateOf(d.WorkflowExecutionInfo)), nil
}
