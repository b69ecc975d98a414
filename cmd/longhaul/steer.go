package main

import (
	"context"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) pauseCommand() *cobra.Command {
	return a.steerCommand(workflows.Pause, "Stop a run at its next safe point, between two turns or stages; nothing is lost",
		"A paused run keeps its place for as long as you like. `longhaul resume RUN` lets it go on.")
}

func (a *app) resumeCommand() *cobra.Command {
	return a.steerCommand(workflows.Resume, "Let a paused run go on", "The run goes on at the turn and stage at which it was paused.")
}

func (a *app) cancelCommand() *cobra.Command {
	return a.steerCommand(workflows.Cancel, "End a run at its next safe point",
		"What the run has made stays. Started again with the same configuration, it goes on from there.")
}

// steered is what `pause --json` and its siblings print.
type steered struct {
	Run rl.RunID `json:"run"`
	workflows.Standing
}

func (a *app) steerCommand(name, short, long string) *cobra.Command {
	var why string
	c := a.jsonFlag(&cobra.Command{
		Use: name + " RUN [--why TEXT]", Short: short, Long: short + ".\n\n" + long + "\nWho asked, and why, is kept with the run.", GroupID: groupStart, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := a.host(cmd.Context(), want{}, true)
			if err != nil {
				return err
			}
			defer h.Close()
			return a.steer(cmd.Context(), h, rl.RunID(args[0]), name, workflows.Command{By: me(), Why: why})
		},
	})
	c.Flags().StringVar(&why, "why", "", "the reason, for the record")
	return c
}

// patient is how long a command is waited for in silence.
const patient = 2 * time.Second

func (a *app) steer(ctx context.Context, h *host, run rl.RunID, name string, command workflows.Command) error {
	unheard := after(patient, func() {
		a.out.say("%s is asked for; no worker has taken it yet. Interrupted now, it may be lost.", name)
	})
	slow := func() {}
	at, err := workers.Steer(ctx, h.Temporal, run, name, command, func() {
		unheard()
		slow = after(patient, func() {
			a.out.say("%s is accepted; waiting for the run's next safe point. Interrupt this command if you like: the run follows it all the same.", name)
		})
	})
	unheard()
	slow()
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(steered{run, at})
	}
	a.out.print("run %s is %s, %s\n", run, at.State, at.At)
	if h.work != nil && at.State == workflows.Running {
		a.out.say("Nothing works on it when this command ends: `longhaul up%s`, or its train command, goes on with it.", a.dataFlag())
	}
	return nil
}

// me is who gives a command.
func me() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "somebody"
	}
	return u.Username
}
