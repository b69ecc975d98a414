package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/workers"
	"github.com/longhaul-rl/longhaul/workflows"
)

func (a *app) setCommand() *cobra.Command {
	var why string
	c := a.jsonFlag(&cobra.Command{
		Use: "set RUN KEY=VALUE ... --why TEXT", Short: "Change a run's settings while it goes on", GroupID: groupStart, Args: cobra.MinimumNArgs(2),
		Long: "set changes keys of run.yaml in a run: learning rate, budget, judge, guard and others; `longhaul schema` lists the keys, and what\n" +
			"makes a run what it is cannot be changed. A change takes effect before the run's next update, in a paused run at once.\n" +
			"Who changed what, and why, is kept with the run.\n\n" +
			"  longhaul set orders-1 reward.max_usd=30 --why \"worth it\"\n" +
			"  longhaul set orders-1 reward.rubric=@rubric.md --why \"the old one paid for politeness\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if why == "" {
				return usagef("--why: say why, for the record")
			}
			h, err := a.host(cmd.Context(), want{}, true)
			if err != nil {
				return err
			}
			defer h.Close()
			return a.set(cmd.Context(), h, rl.RunID(args[0]), args[1:], why)
		},
	})
	c.Flags().StringVar(&why, "why", "", "the reason, for the record")
	return c
}

// wasSet is what `set --json` prints.
type wasSet struct {
	Run rl.RunID `json:"run"`
	Set []string `json:"set"` // "reward.max_usd: 20 -> 30"
	workflows.Standing
}

func (a *app) set(ctx context.Context, h *host, run rl.RunID, pairs []string, why string) error {
	from, cfg, err := h.Store.Config(ctx, run)
	if rl.KindOf(err) == rl.NotFound {
		return rl.Errorf(rl.NotFound, "run "+string(run), "no such run; `longhaul runs` lists them")
	}
	if err != nil {
		return err
	}
	var changes []string
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return usagef("%q is not of the form KEY=VALUE, such as update.learning_rate=1e-4", p)
		}
		if key == "reward.rubric" {
			if value, err = fromFile(value, "."); err != nil {
				return err
			}
		}
		next, was, err := config.Change(cfg, key, value, registered())
		if err != nil {
			return err
		}
		cfg = next
		changes = append(changes, key+": "+inBrief(was)+" -> "+inBrief(value))
	}
	if err := config.Check(cfg, registered()); err != nil {
		return err
	}
	at, err := workers.Set(ctx, h.Temporal, h.Store, cfg, from, workflows.Command{By: me(), Why: why}, strings.Join(changes, ", "))
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(wasSet{run, changes, at})
	}
	a.out.print("run %s, %s %s: %s\n", run, at.State, at.At, strings.Join(changes, ", "))
	return nil
}

// inBrief is a value in one short line.
func inBrief(value string) string {
	const most = 60
	if value == "" {
		return `""`
	}
	value = strings.Join(strings.Fields(value), " ")
	if len(value) > most {
		value = strings.ToValidUTF8(value[:most], "") + "..."
	}
	return value
}

// fromFile is a text, or, when it begins with @, what is in the file that it names, seen from a directory.
func fromFile(text, dir string) (string, error) {
	name, named := strings.CutPrefix(text, "@")
	if !named {
		return text, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	const most = 20_000 // as config allows
	b, err := os.ReadFile(name)
	switch {
	case err != nil:
		return "", rl.Errorf(rl.Invalid, "reward.rubric", "%w", err)
	case len(b) > most:
		return "", rl.Errorf(rl.Invalid, "reward.rubric", "%s has %d bytes, more than %d", name, len(b), most)
	}
	return string(b), nil
}
