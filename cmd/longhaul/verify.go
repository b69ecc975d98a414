package main

import (
	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
)

func (a *app) verifyCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:     "verify RUN",
		GroupID: groupLook,
		Short:   "Re-hash everything a run has stored, and name what is damaged",
		Long:    "Reads every checkpoint, trajectory, batch and record of a run and checks hashes, formats and references. Exits with 1 when\nsomething is damaged.",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			run := rl.RunID(args[0])
			if !run.Valid() {
				return usagef("%q is not the name of a run; `longhaul runs` lists them", args[0])
			}
			c, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer c.Close()
			a.out.now("verifying %s ...", run)
			report, err := c.Store.Verify(cmd.Context(), run)
			if err != nil {
				return err
			}
			return a.verified(run, report)
		},
	})
}

func (a *app) verified(run rl.RunID, r store.Report) error {
	if r.Faults == nil {
		r.Faults = []store.Fault{}
	}
	if a.out.json {
		if err := a.out.object(r); err != nil {
			return err
		}
	} else {
		a.out.print("%s: %d objects, %s, %d damaged\n", run, r.Objects, size(r.Bytes), len(r.Faults))
		for _, f := range r.Faults {
			a.out.print("  %s: %s\n", f.Key, f.Why)
		}
	}
	if len(r.Faults) > 0 {
		return rl.Errorf(rl.Corrupt, "store "+r.Faults[0].Key, "%s", r.Faults[0].Why)
	}
	return nil
}
