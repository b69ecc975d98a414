package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/rl"
)

// States of a check.
const (
	fine    = "ok"
	warning = "warning" // works, but a person should know
	failing = "failed"
)

// check is one thing that doctor tried.
type check struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Found  string `json:"found"`
	Mend   string `json:"mend,omitempty"` // what to do about it
	failed error
}

// diagnosis is `doctor --json`.
type diagnosis struct {
	OK     bool    `json:"ok"`
	Checks []check `json:"checks"`
}

// checkTimeout bounds one check: a host that drops packets must not keep doctor waiting.
const checkTimeout = 15 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var file string
	c := a.jsonFlag(&cobra.Command{
		Use:     "doctor [-f run.yaml]",
		GroupID: groupSetUp,
		Short:   "Try every connection and say what is wrong and how to mend it",
		Long: "Tries the data directory, the store, Temporal and, with -f, everything else that a run.yaml needs: its names and numbers,\n" +
			"its environment, its policy, its judge and the place where its update jobs run. When something does not work it exits as\n" +
			"train would: 2 for a wrong setting or configuration, 1 for what does not answer.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := a.doctor(cmd.Context(), file)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return a.diagnosed(d)
		},
	})
	c.Flags().StringVarP(&file, "file", "f", "", "also try what this run.yaml needs")
	return c
}

// doctor runs the checks in the order in which one would mend things.
func (a *app) doctor(ctx context.Context, file string) (d diagnosis) {
	cfg := rl.Config{}
	add := func(checks ...check) { d.Checks = append(d.Checks, checks...) }
	add(a.checkKernel())
	if file != "" {
		var err error
		cfg, err = readConfig(file)
		mend := "" // the error says it
		if _, lines := errors.AsType[config.Problems](err); lines {
			mend = "mend the lines named; `longhaul schema` has all keys"
		}
		add(verdict(file, "every key is known, every value allowed", mend, err))
		if err != nil {
			cfg = rl.Config{}
		}
	}
	add(a.checkDirectory()...)
	add(a.checkParts(ctx, cfg.Store)...)
	if cfg.Name != "" {
		add(checkEnvironment(ctx, cfg)...)
		add(a.checkPolicy(ctx, cfg)...)
		add(checkBase(cfg)...)
		add(a.checkJudge(ctx, cfg)...)
		add(a.checkUpdate(ctx, cfg)...)
	}
	d.OK = true
	for _, c := range d.Checks {
		d.OK = d.OK && c.State != failing
	}
	return d
}

// verdict turns the outcome of a try into a check.
func verdict(name, good, mend string, err error) check {
	if err == nil {
		return check{Name: name, State: fine, Found: good}
	}
	return check{Name: name, State: failing, Found: strings.TrimPrefix(err.Error(), name+": "), Mend: mend, failed: err}
}

func (a *app) diagnosed(d diagnosis) error {
	if a.out.json {
		if err := a.out.object(d); err != nil {
			return err
		}
	} else {
		for _, c := range d.Checks {
			a.out.print("%-8s%s: %s\n", c.State, c.Name, strings.ReplaceAll(c.Found, "\n", "\n        "))
			if c.Mend != "" {
				a.out.print("        -> %s\n", c.Mend)
			}
		}
	}
	var bad []string
	var kind rl.Kind // of the first failure, which is the one that train would end with
	for _, c := range d.Checks {
		if c.State != failing {
			continue
		}
		if len(bad) == 0 {
			kind = rl.KindOf(c.failed)
		}
		bad = append(bad, c.Name)
	}
	if d.OK {
		return nil
	}
	return &rl.Error{Kind: kind, At: "failed", Err: errors.New(strings.Join(bad, ", "))}
}
