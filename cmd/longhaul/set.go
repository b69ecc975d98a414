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
			"Keys that have the default that goes with the others, such as the clip range of a loss, change with them.\n" +
			"Who changed what, and why, is kept with the run; `longhaul show RUN` tells.\n\n" +
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
	Set []string `json:"set"` // "reward.max_usd: 20 -> 30"; what follows from what was asked for too
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
	given, err := parsePairs(pairs)
	if err != nil {
		return err
	}
	cfg, what, err := config.Change(cfg, given, registered())
	if err != nil {
		return err
	}
	if err := config.Check(cfg, registered()); err != nil {
		return err
	}
	at, err := workers.Set(ctx, h.Temporal, h.Store, cfg, from, workflows.Command{By: me(), Why: why}, changedInWords(what))
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(wasSet{run, changeLines(what), at})
	}
	a.out.print("run %s, %s %s: %s\n", run, at.State, at.At, changedInWords(what))
	return nil
}

// parsePairs reads KEY=VALUE, and the file that KEY=@FILE names where the value is a text that may lie in one.
func parsePairs(given []string) (pairs []config.Pair, err error) {
	for _, p := range given {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usagef("%q is not of the form KEY=VALUE, such as update.learning_rate=1e-4", p)
		}
		if _, ok := filed(&rl.Config{})[key]; ok {
			if value, err = fromFile(key, value, "."); err != nil {
				return nil, err
			}
		}
		pairs = append(pairs, config.Pair{Key: key, Value: value})
	}
	return pairs, nil
}

// changedInWords is a change in one line: "reward.max_usd: 20 -> 30", and what follows from it. It is part of history, and so brief.
func changedInWords(what []config.Changed) string {
	var asked, followed, gone []string
	for i, line := range changeLines(what) {
		switch c := what[i]; {
		case !c.Followed:
			asked = append(asked, line)
		case c.Is == "":
			gone = append(gone, c.Key)
		default:
			followed = append(followed, line)
		}
	}
	words := strings.Join(asked, ", ")
	if len(followed) > 0 {
		words += "; with it " + strings.Join(followed, ", ")
	}
	if len(gone) > 0 {
		words += "; no longer set: " + strings.Join(gone, ", ")
	}
	return words
}

func changeLines(what []config.Changed) (lines []string) {
	for _, c := range what {
		lines = append(lines, c.Key+": "+inBrief(c.Was)+" -> "+inBrief(c.Is))
	}
	return lines
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

// filed are the texts that may lie in a file, which run.yaml then names as @FILE: the run keeps the text.
func filed(c *rl.Config) map[string]*string {
	return map[string]*string{"reward.rubric": &c.Reward.Rubric, "update.kubernetes.template": &c.Update.Kubernetes.Template, "env.mcp.system": &c.Env.MCP.System}
}

// located are the texts that name a file or a directory, which run.yaml may do as seen from where it lies.
func located(c *rl.Config) []*string {
	return []*string{&c.Env.MCP.Tasks, &c.Env.MCP.Files, &c.Env.Agent.Tasks, &c.Env.Agent.Directory}
}

// fromFile is a key's text, or, when it begins with @, what is in the file that it names, seen from a directory.
func fromFile(key, text, dir string) (string, error) {
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
		return "", rl.Errorf(rl.Invalid, key, "%w", err)
	case len(b) > most:
		return "", rl.Errorf(rl.Invalid, key, "%s has %d bytes, more than %d", name, len(b), most)
	}
	return string(b), nil
}
