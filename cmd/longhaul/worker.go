package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workers"
)

func (a *app) workerCommand() *cobra.Command {
	var queues []string
	c := &cobra.Command{
		Use: "worker", Short: "Work on runs of an external Temporal", GroupID: groupStart,
		Long: "worker takes work from the Temporal that TEMPORAL_ADDRESS (or a Temporal profile) names, and keeps its results in the S3\n" +
			"that the AWS environment reaches. Any number of workers may run; each takes the queues it is given:\n  " +
			strings.Join(workers.Queues, ", "),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := a.external(cmd.Context(), queues)
			if err != nil {
				return err
			}
			defer h.Close()
			a.out.say("working on %s", strings.Join(queues, ", "))
			return h.untilStopped(cmd.Context(), func() { a.out.say("Stopping; what was under way is given to another worker.") })
		},
	}
	c.Flags().StringSliceVar(&queues, "queues", workers.Queues, "queues to work on")
	return c
}

// errNotExternal says what a worker of its own needs.
var errNotExternal = rl.Errorf(rl.Invalid, "worker", "no external Temporal is configured: set TEMPORAL_ADDRESS, or use `longhaul up`, which has a worker")
