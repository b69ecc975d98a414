package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/cmd/longhaul/render"
	"github.com/longhaul-rl/longhaul/rl"
)

func (a *app) statusCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "status RUN", Short: "Where a run stands: stage, rates, what it waits for, when it will be done", GroupID: groupLook, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context(), want{Temporal: true})
			if err != nil {
				return err
			}
			defer c.Close()
			o := observer{client: c.Temporal, store: c.Store, run: rl.RunID(args[0]), scheduled: map[string]time.Time{}}
			s, err := o.status(cmd.Context())
			if err != nil {
				return err
			}
			if s.Best, err = o.best(cmd.Context()); err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(s)
			}
			a.out.rows(statusRows(s))
			return nil
		},
	})
}

func statusRows(s runStatus) (rows [][]string) {
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	add("run", "%s", s.Run)
	add("state", "%s", s.State)
	add("update", "%d of %d", s.Update, s.Updates)
	if s.Stage != "" {
		add("stage", "%s", stageWords(s.Stage))
	}
	if p := s.Progress; p != nil && p.Total > 0 {
		add("progress", "%d of %d %s", p.Done, p.Total, p.What)
	} else if p != nil {
		add("progress", "%d %s", p.Done, p.What)
	}
	if j := s.Job; j != nil {
		add("job", "%s", jobLine(*j))
	}
	if w := s.WaitingFor; w != nil {
		add("waiting for", "%s since %s: %s", w.What, w.Since.Format(time.RFC3339), w.Why)
	}
	for _, one := range s.Servers {
		rows = append(rows, serverRow(one))
	}
	if s.Failure != "" {
		add("failure", "%s", s.Failure)
	}
	if c := s.Checkpoint; c != nil {
		add("checkpoint", "%s  %s", c.Version, c.SHA256)
	}
	if s.Best != nil {
		add("best", "%s  %s", s.Best.Version, s.Best.SHA256)
	}
	if s.Rates.SecondsPerUpdate > 0 {
		add("rates", "%.1f s an update, %.0f tokens/s, %.0f turns/s", s.Rates.SecondsPerUpdate, s.Rates.TokensPerSecond, s.Rates.TurnsPerSecond)
		t := s.Seconds
		add("last update", "sample %.2f, rollout %.2f, judge %.2f, advantage %.2f, update %.2f, checkpoint %.2f, publish %.2f s", t.Sample, t.Rollout, t.Judge, t.Advantage, t.Update, t.Checkpoint, t.Publish)
	}
	if s.ETA != nil {
		add("done in", "%s (%s)", render.Duration(time.Until(*s.ETA)), s.ETA.Local().Format("15:04"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Warnings)) {
		add("stands", "%s, since update %d (`longhaul show %s/%d`)", name, s.Warnings[name], s.Run, s.Warnings[name])
	}
	for _, e := range s.Events {
		add(e.Kind, "update %d: %s", e.Update, e.Text)
	}
	return rows
}
