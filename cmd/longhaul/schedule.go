package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workers"
)

func (a *app) scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "schedule", Short: "Start runs or evaluations at given times, on Temporal's own schedules", GroupID: groupStart,
		Long: "A schedule starts runs, each named after its run.yaml and the time at which it was due, or evaluations. Temporal keeps it;\n" +
			"what it starts is worked on by `longhaul up` or by workers.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []*cobra.Command{a.scheduleCreate(), a.scheduleList(), a.scheduleTrigger(), a.schedulePause(), a.scheduleUnpause(), a.scheduleDelete()} {
		strict(sub)
		c.AddCommand(sub)
	}
	return c
}

func (a *app) scheduleCreate() *cobra.Command {
	var file, eval string
	var t workers.Timing
	c := a.jsonFlag(&cobra.Command{
		Use: "create NAME (--cron EXPR | --every DURATION) [-f run.yaml | --eval RUN[@VERSION]]", Short: "Make a schedule", Args: cobra.ExactArgs(1),
		Long: "The runs of a schedule are named after the name in run.yaml and the time at which each was due, in UTC. With\n" +
			"`from: best(RUN)` in it, each begins with what is the best then. --eval plays the held-out tasks of RUN with its newest\n" +
			"version, or with the one named.",
		Example: "  longhaul schedule create nightly -f run.yaml --cron '17 4 * * *'\n  longhaul schedule create hourly --eval orders-1 --every 1h --jitter 5m",
		RunE: func(cmd *cobra.Command, args []string) error {
			s := rl.Schedule{Name: args[0], Evaluate: eval}
			if eval != "" && cmd.Flags().Changed("file") {
				return usagef("-f and --eval: a schedule starts either runs or evaluations")
			}
			var at string // the store
			if eval == "" {
				cfg, err := readConfig(file)
				if err != nil {
					return err
				}
				at, cfg.Store = cfg.Store, ""
				s.Run = &cfg
			}
			c, err := a.connect(cmd.Context(), want{Temporal: true, Store: at})
			if err != nil {
				return err
			}
			defer c.Close()
			if err := workers.CreateSchedule(cmd.Context(), c.Temporal, c.Store, c.URI, s, t); err != nil {
				return err
			}
			if c.parts != nil {
				a.out.say("nothing is running here that could work on it: start `longhaul up%s`", a.dataFlag())
			}
			state, err := workers.Schedule(cmd.Context(), c.Temporal, c.Store, s.Name)
			if err != nil {
				return err
			}
			return a.schedules([]workers.ScheduleState{state})
		},
	})
	f := c.Flags()
	f.StringVarP(&file, "file", "f", "run.yaml", "configuration of the runs")
	f.StringVar(&eval, "eval", "", "RUN[@VERSION] to evaluate, instead of runs")
	f.StringVar(&t.Cron, "cron", "", "times as a cron expression, in UTC")
	f.DurationVar(&t.Every, "every", 0, "times as an interval, such as 20s or 6h")
	f.DurationVar(&t.Jitter, "jitter", 0, "each start is late by a random time up to this")
	f.StringVar(&t.Overlap, "overlap", "skip", "when the one before still runs: "+strings.Join(workers.Overlaps(), ", "))
	f.DurationVar(&t.Catchup, "catchup", time.Minute, "a start that was missed is made up for within this time")
	return c
}

func (a *app) scheduleList() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the schedules: their last ten starts and their next ones",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context(), want{Temporal: true})
			if err != nil {
				return err
			}
			defer c.Close()
			all, err := workers.Schedules(cmd.Context(), c.Temporal, c.Store)
			if err != nil {
				return err
			}
			if len(all) == 0 && !a.out.json {
				a.out.say("no schedules yet; `longhaul schedule create` makes one")
			}
			return a.schedules(all)
		},
	})
}

func (a *app) scheduleTrigger() *cobra.Command {
	return a.scheduled("trigger NAME", "Start now what the schedule starts, as far as its overlap policy allows", "triggered", func(ctx context.Context, c *conn, name string) error {
		return workers.TriggerSchedule(ctx, c.Temporal, name)
	})
}

func (a *app) schedulePause() *cobra.Command {
	var note string
	c := a.scheduled("pause NAME", "Start nothing until `unpause`; what is started goes on", "paused", func(ctx context.Context, c *conn, name string) error {
		return workers.PauseSchedule(ctx, c.Temporal, name, note)
	})
	c.Flags().StringVar(&note, "note", "", "why")
	return c
}

func (a *app) scheduleUnpause() *cobra.Command {
	var note string
	c := a.scheduled("unpause NAME", "Start things again", "let go on", func(ctx context.Context, c *conn, name string) error {
		return workers.UnpauseSchedule(ctx, c.Temporal, name, note)
	})
	c.Flags().StringVar(&note, "note", "", "why")
	return c
}

func (a *app) scheduleDelete() *cobra.Command {
	return a.scheduled("delete NAME", "Remove the schedule; what it started goes on", "deleted", func(ctx context.Context, c *conn, name string) error {
		return workers.DeleteSchedule(ctx, c.Temporal, c.Store, name)
	})
}

// scheduled is a command that does something with one schedule.
func (a *app) scheduled(use, short, done string, do func(ctx context.Context, c *conn, name string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		c, err := a.connect(cmd.Context(), want{Temporal: true})
		if err != nil {
			return err
		}
		defer c.Close()
		if err := do(cmd.Context(), c, args[0]); err != nil {
			return err
		}
		a.out.say("schedule %s is %s", args[0], done)
		return nil
	}}
}

// schedules tells how schedules stand.
func (a *app) schedules(all []workers.ScheduleState) error {
	for i, s := range all {
		if a.out.json {
			if err := a.out.object(s); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.out.print("\n")
		}
		a.out.print("%s: %s, %s; overlap %s, catch-up %s\n", s.Name, s.Starts, s.When, s.Overlap, time.Duration(s.Catchup*float64(time.Second)))
		a.out.rows(scheduleRows(s))
		if s.Skipped+s.Missed > 0 {
			a.out.print("  left out: %d since the one before still ran, %d since the catch-up window was over\n", s.Skipped, s.Missed)
		}
	}
	return nil
}

func scheduleRows(s workers.ScheduleState) (rows [][]string) {
	if s.Paused {
		rows = append(rows, []string{"  paused", s.Note})
	} else if s.Note != "" {
		rows = append(rows, []string{"  note", s.Note})
	}
	for _, p := range s.Past {
		what := string(p.Run)
		if what == "" {
			what = p.Workflow
		}
		rows = append(rows, []string{"  past", p.Due.Format(time.RFC3339), what, p.State})
	}
	for _, n := range s.Next[:min(3, len(s.Next))] {
		rows = append(rows, []string{"  next", n.UTC().Format(time.RFC3339)})
	}
	return rows
}
