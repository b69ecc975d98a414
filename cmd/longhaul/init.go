package main

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/envs/sqlite"
	"github.com/longhaul-rl/longhaul/rl"
)

func (a *app) initCommand() *cobra.Command {
	var env, file string
	c := &cobra.Command{
		Use:     "init [--env NAME] [-f run.yaml]",
		GroupID: groupSetUp,
		Short:   "Write a commented run.yaml for an environment",
		Long: "Writes a run.yaml that holds every key with its default and what it means, and with --env sqlite a world to begin with.\n" +
			"Existing files are left alone.",
		Example: "  longhaul init --env orders\n  longhaul init -f - | less",
		RunE:    func(*cobra.Command, []string) error { return a.init(env, file) },
	}
	c.Flags().StringVar(&env, "env", "orders", "environment: "+strings.Join(registered().Envs, ", "))
	c.Flags().StringVarP(&file, "file", "f", "run.yaml", "file to write; - is stdout")
	_ = c.RegisterFlagCompletionFunc("env", cobra.FixedCompletions(registered().Envs, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) init(env, file string) error {
	names := registered()
	if !slices.Contains(names.Envs, env) {
		return rl.Errorf(rl.Invalid, "--env", "%q is not one of %s", env, strings.Join(names.Envs, ", "))
	}
	cfg, err := config.Start(env)
	if err != nil {
		return err
	}
	b := config.Commented(cfg)
	if file == "-" {
		a.out.print("%s", b)
		return nil
	}
	if err := createNew(file, b); err != nil {
		return err
	}
	if dir := cfg.Env.SQLite.Dir; dir != "" {
		if err := a.writeExample(dir); err != nil {
			return err
		}
	}
	a.out.say("wrote %s; `longhaul doctor -f %s` tries what it needs, `longhaul train -f %s` starts the run", file, file, file)
	return nil
}

// writeExample writes a world of SQLite to begin with, where there is none.
func (a *app) writeExample(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		a.out.say("%s is there, and is left alone", dir)
		return nil
	}
	if err := os.CopyFS(dir, sqlite.Example()); err != nil {
		return err
	}
	a.out.say("wrote %s, a shop's support desk: change it into your world; `longhaul doctor` tells what is wrong with it", dir)
	return nil
}

// createNew writes a file that must not exist with other content.
func createNew(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, content) {
			return nil
		}
		return rl.Errorf(rl.Conflict, file, "it exists; name another file with -f")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
