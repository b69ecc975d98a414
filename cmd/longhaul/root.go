package main

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// app is what the commands share: the global flags, where they write, the environment.
type app struct {
	data   string // directory of the embedded parts' state
	usual  string // data where no flag names another
	out    *output
	getenv func(string) string
	log    *slog.Logger // of the parts in this process; see logger

	patience time.Duration // with parts that do not answer

	s3 func(http.RoundTripper) http.RoundTripper // put before the embedded store; may be nil
}

// Groups of commands in the help.
const (
	groupStart = "start"
	groupLook  = "look"
	groupSetUp = "setup"
)

// root declares every command.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "longhaul",
		Short: "Durable RL training for LLM agents",
		Long: "longhaul trains an LLM agent by reinforcement learning, in steps that survive crashes and restarts.\n" +
			"Start with `longhaul demo`: everything embedded, nothing to set up.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) (err error) {
			a.log, err = a.logger(c)
			envs.Log, child.Log = a.log, a.log
			return err
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.SetOut(a.out.stdout)
	root.SetErr(a.out.stderr)
	flags := root.PersistentFlags()
	data := a.getenv("LONGHAUL_DATA")
	if data == "" {
		data = ".longhaul"
	}
	a.usual = data
	flags.StringVar(&a.data, "data", data, "directory of the embedded parts' state (or LONGHAUL_DATA)")
	flags.BoolVar(&a.out.quiet, "quiet", false, "no progress on stderr")
	root.AddGroup(&cobra.Group{ID: groupStart, Title: "Train:"}, &cobra.Group{ID: groupLook, Title: "Look:"}, &cobra.Group{ID: groupSetUp, Title: "Set up:"})
	root.SetHelpCommandGroupID(groupSetUp)
	root.SetCompletionCommandGroupID(groupSetUp)
	for _, c := range a.commands() {
		strict(c)
		root.AddCommand(c)
	}
	return root
}

// dataFlag is what a command line that is to be pasted needs to find this data directory, in quotes where a shell
// would take it apart.
func (a *app) dataFlag() string {
	switch {
	case a.data == a.usual:
		return ""
	case strings.Trim(a.data, plainPath) == "":
		return " --data " + a.data
	}
	return " --data '" + strings.ReplaceAll(a.data, "'", `'\''`) + "'"
}

const plainPath = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+"

// commands are in the order of the help.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.demoCommand(), a.trainCommand(), a.upCommand(), a.workerCommand(), a.pauseCommand(), a.resumeCommand(), a.cancelCommand(), a.setCommand(), a.replayCommand(), a.scheduleCommand(),
		a.runsCommand(), a.statusCommand(), a.watchCommand(), a.showCommand(), a.ledgerCommand(), a.rescoreCommand(), a.evalCommand(), a.exportCommand(), a.verifyCommand(), a.judgeCommand(), a.benchCommand(),
		a.initCommand(), a.tasksCommand(), a.doctorCommand(), a.gcCommand(), a.schemaCommand(), a.versionCommand(),
	}
}

// strict makes wrong numbers of arguments usage errors, with the command's own line.
func strict(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s; use: %s", err, cmd.UseLine())
		}
		return nil
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usagef("there is no command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usagef("there is no command %q; `longhaul help` lists them", name)
}

// jsonFlag adds --json to a command that has it.
func (a *app) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.out.json, "json", false, "machine-readable output on stdout")
	return c
}

// silent is above every level: what a person must know is said by the command itself.
const silent = slog.LevelError + 4

// logger is LONGHAUL_LOG's; without it the processes that run for days log warnings, and the others nothing. The error
// is Invalid, for a level that does not exist.
func (a *app) logger(c *cobra.Command) (*slog.Logger, error) {
	level := silent
	if c.Name() == "up" || c.Name() == "worker" {
		level = slog.LevelWarn
	}
	if asked := a.getenv("LONGHAUL_LOG"); asked != "" {
		if err := level.UnmarshalText([]byte(asked)); err != nil {
			return nil, rl.Errorf(rl.Invalid, "LONGHAUL_LOG", "%q is not a level: there are debug, info, warn and error", asked)
		}
	}
	return slog.New(slog.NewTextHandler(a.out.besideLive(), &slog.HandlerOptions{Level: level})), nil
}
