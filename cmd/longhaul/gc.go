package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/store"
	"github.com/longhaul-rl/longhaul/workflows"
)

// unset is the value of a number flag that was not given.
const unset = -1

func (a *app) gcCommand() *cobra.Command {
	var dry bool
	var grace time.Duration
	var last, best, every int
	c := a.jsonFlag(&cobra.Command{
		Use: "gc [RUN...]", Short: "Remove checkpoints that retention does not keep, and what nothing needs any more", GroupID: groupSetUp, Args: cobra.ArbitraryArgs,
		Long: "gc keeps of each run (or of the runs named) the newest and the best evaluated checkpoints, as its run.yaml says under\n" +
			"checkpoints or the flags do, those that a pointer, a pin or an update under way refers to, and removes the others, their files\n" +
			"where no other checkpoint shares them, their update jobs, and journals of what is over. A record of each removed\n" +
			"checkpoint stays. Trajectories, scores, batches, ledgers and evaluations stay. It may run beside runs, and be killed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o := store.GCOptions{Evaluation: workflows.EvaluationKey, Grace: grace, DryRun: dry, Retention: func(c rl.Config) store.Retention {
				return store.Retention{Last: given(last, c.Checkpoints.KeepLast), Best: given(best, c.Checkpoints.KeepBest), Every: given(every, 0)}
			}}
			for _, name := range args {
				if !rl.RunID(name).Valid() {
					return usagef("%q is not the name of a run; `longhaul runs` lists them", name)
				}
				o.Runs = append(o.Runs, rl.RunID(name))
			}
			if grace < 0 || last < unset || last == 0 || best < unset || every < unset {
				return usagef("--grace, --keep-best and --keep-every are from 0 on, --keep-last from 1 on")
			}
			conn, err := a.connect(cmd.Context(), want{})
			if err != nil {
				return err
			}
			defer conn.Close()
			report, err := conn.Store.GC(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.collected(report)
		},
	})
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would go")
	c.Flags().IntVar(&last, "keep-last", unset, "newest checkpoints kept (default: checkpoints.keep_last of each run)")
	c.Flags().IntVar(&best, "keep-best", unset, "best evaluated checkpoints kept (default: checkpoints.keep_best of each run)")
	c.Flags().IntVar(&every, "keep-every", unset, "checkpoints kept whose update is a multiple of this; 0: none")
	for _, name := range []string{"keep-last", "keep-best", "keep-every"} {
		c.Flags().Lookup(name).DefValue = "0" // which help leaves out: unset is nothing to be told
	}
	c.Flags().DurationVar(&grace, "grace", time.Hour, "files and journals stored more recently stay")
	return c
}

// given is a flag's value, or what stands for it where it was not given.
func given(flag, otherwise int) int {
	if flag == unset {
		return otherwise
	}
	return flag
}

// collected tells what gc did, or would do.
func (a *app) collected(r store.GCReport) error {
	if a.out.json {
		return a.out.object(r)
	}
	goes := "retired"
	if r.DryRun {
		goes = "to be retired"
	}
	for _, run := range r.Runs {
		a.out.print("%s: %s kept, %d %s\n", run.Run, counted(len(run.Kept), "checkpoint"), len(run.Retired), goes)
		var rows [][]string
		for _, k := range run.Kept {
			rows = append(rows, []string{"  " + string(k.Version), "kept", k.Why})
		}
		for _, k := range run.Retired {
			rows = append(rows, []string{"  " + string(k.Version), goes, k.Why})
		}
		a.out.rows(rows)
	}
	freed := "freed"
	if r.DryRun {
		freed = "would be freed"
	}
	f := r.Freed
	a.out.print("%s: %s\n", freed, strings.Join([]string{
		counted(f.Checkpoints, "checkpoint"), counted(f.Jobs, "update job"),
		fmt.Sprintf("%s (%s)", counted(f.Chunks.Objects, "chunk"), size(f.Chunks.Bytes)),
		fmt.Sprintf("%s (%s)", counted(f.Journals.Objects, "journal segment"), size(f.Journals.Bytes)),
	}, ", "))
	if w := r.Waiting; w.Objects > 0 {
		a.out.print("within the grace period: %s (%s)\n", counted(w.Objects, "chunk"), size(w.Bytes))
	}
	return nil
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
