package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longhaul-rl/longhaul/config"
	"github.com/longhaul-rl/longhaul/propose"
	"github.com/longhaul-rl/longhaul/rl"
)

// proposal is what the flags of `tasks propose` say beside propose.Options.
type proposal struct {
	propose.Options
	server         string // a command, or a URL
	file           string // a run.yaml whose env says more of it
	key, solverKey string // environment variables
}

func (a *app) tasksPropose() *cobra.Command {
	var p proposal
	c := a.jsonFlag(&cobra.Command{
		Use: "propose --mcp COMMAND|URL --url URL --model NAME [--out tasks.jsonl]", Short: "Have a model write tasks for an MCP server",
		Long: "propose asks a model for tasks that the tools of an MCP server can do: unlike each other, easy, medium and hard ones alike, each with\n" +
			"a rubric for the judge. With --solver-model a strong model plays each task first, and what it cannot solve is left out. The file\n" +
			"is for env.mcp.tasks in run.yaml. What is paid for is kept beside it, in FILE.calls: stopped and run again, propose\n" +
			"goes on where it was and asks for nothing twice.",
		Example: "  longhaul tasks propose --mcp 'npx -y @modelcontextprotocol/server-filesystem {dir}' --url https://api.openai.com/v1 --model gpt-5-mini \\\n" +
			"      --api-key-env OPENAI_API_KEY --solver-model gpt-5 --tasks 200\n" +
			"  longhaul tasks propose --mcp http://127.0.0.1:3001/mcp --url http://127.0.0.1:8000/v1 --model Qwen/Qwen3-4B\n" +
			"  longhaul tasks propose -f run.yaml --url http://127.0.0.1:8000/v1 --model Qwen/Qwen3-4B",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.file != "" && cmd.Flags().Changed("out") {
				return usagef("--out and -f: the run.yaml says which file it is")
			}
			return a.propose(cmd.Context(), p)
		},
	})
	f := c.Flags()
	f.StringVar(&p.server, "mcp", "", "the server: its command, in which {dir} stands for a directory of its own, or its URL")
	f.StringVarP(&p.file, "file", "f", "", "or a run.yaml, whose env has the server and the file of tasks")
	f.StringVar(&p.Writer.URL, "url", "", "base URL of the writing model's endpoint, with /v1")
	f.StringVar(&p.Writer.Model, "model", "", "the model that writes")
	f.StringVar(&p.key, "api-key-env", "", "environment variable that holds its key")
	f.StringVar(&p.Solver.URL, "solver-url", "", "base URL of the strong model's endpoint (default: --url)")
	f.StringVar(&p.Solver.Model, "solver-model", "", "a strong model that must solve each task")
	f.StringVar(&p.solverKey, "solver-api-key-env", "", "environment variable that holds its key (default: --api-key-env, where --solver-url is not given)")
	f.StringVar(&p.Out, "out", "tasks.jsonl", "the file")
	f.StringVar(&p.About, "about", "", "what the agent is for, in your words")
	f.IntVar(&p.Options.Tasks, "tasks", 100, "how many tasks")
	f.Float64Var(&p.Eval, "eval", .2, "share of them that is for evaluation")
	f.IntVar(&p.Batch, "batch", 5, "tasks asked for in one call")
	f.IntVar(&p.Tries, "solver-tries", 2, "attempts that the strong model has at a task")
	f.IntVar(&p.Concurrency, "concurrency", 4, "calls at once")
	f.IntVar(&p.MaxCalls, "max-calls", 0, "stop before more calls of models than this, those of earlier starts included; 0: no limit")
	f.Float64Var(&p.Temperature, "temperature", 1, "of the models")
	f.IntVar(&p.ReplyTokens, "reply-tokens", 8192, "tokens of a reply at most, its thinking included")
	f.DurationVar(&p.Timeout, "timeout", 5*time.Minute, "wall clock of one call")
	f.Uint64Var(&p.Seed, "seed", 1, "which tools are asked about first, and what is sampled")
	return c
}

func (a *app) propose(ctx context.Context, p proposal) (err error) {
	if p.Env, err = p.environment(); err != nil {
		return err
	}
	p.Out = p.Env.MCP.Tasks // --out, or what the run.yaml says
	if err := a.models(&p); err != nil {
		return err
	}
	p.Say = func(format string, args ...any) { a.out.say(format, args...) }
	r, err := propose.Run(ctx, p.Options)
	if ctx.Err() != nil {
		a.out.say("Stopping. Nothing is lost: the same command goes on where this one stopped.")
	}
	if err != nil && r.Tasks == 0 {
		return err
	}
	if a.out.json {
		return errors.Join(err, a.out.object(r))
	}
	a.printProposed(r, p.Out)
	return err
}

// environment is env of the run.yaml, or of one with this server.
func (p proposal) environment() (rl.EnvConfig, error) {
	switch {
	case (p.server == "") == (p.file == ""):
		return rl.EnvConfig{}, usagef("--mcp, the server's command or its URL, or -f, a run.yaml that has it")
	case p.file != "":
		cfg, err := readConfig(p.file)
		if err == nil && cfg.Env.Use != "mcp" {
			err = rl.Errorf(rl.Invalid, p.file, "env.use is %s: tasks are written for mcp", cfg.Env.Use)
		}
		return cfg.Env, err
	}
	key := "command"
	if strings.HasPrefix(p.server, "http://") || strings.HasPrefix(p.server, "https://") {
		key = "url"
	}
	src := fmt.Sprintf("name: propose\nenv: {use: mcp, max_turns: 20, mcp: {%s: %q, tasks: %q}}\n", key, p.server, p.Out)
	cfg, err := config.Parse("--mcp", []byte(src), registered())
	return cfg.Env, err
}

// models fills in what the models' flags leave to others.
func (a *app) models(p *proposal) error {
	switch {
	case p.Writer.URL == "" || p.Writer.Model == "":
		return usagef("--url and --model: the model that writes, and the base URL of its endpoint")
	case p.Options.Tasks < 1 || p.Batch < 1 || p.Tries < 1 || p.Concurrency < 1 || p.ReplyTokens < 1:
		return usagef("--tasks, --batch, --solver-tries, --concurrency and --reply-tokens are at least 1")
	case p.Eval < 0 || p.Eval > 1:
		return usagef("--eval %g: a share, from 0 to 1", p.Eval)
	}
	if p.Solver.URL == "" {
		p.Solver.URL = p.Writer.URL
		if p.solverKey == "" {
			p.solverKey = p.key
		}
	}
	for _, m := range []struct {
		flag, variable string
		key            *string
	}{{"--api-key-env", p.key, &p.Writer.Key}, {"--solver-api-key-env", p.solverKey, &p.Solver.Key}} {
		if *m.key = a.getenv(m.variable); m.variable != "" && *m.key == "" {
			return rl.Errorf(rl.Invalid, m.flag, "the environment variable %s is not set here", m.variable)
		}
	}
	return nil
}

func (a *app) printProposed(r propose.Report, out string) {
	a.out.print("%d tasks in %s, %d of them for evaluation\n", r.Tasks, out, r.Eval)
	for _, kind := range slices.Sorted(maps.Keys(r.ByKind)) {
		a.out.print("  %-8s %d\n", kind, r.ByKind[kind])
	}
	for _, why := range slices.Sorted(maps.Keys(r.Refused)) {
		a.out.print("left out, %s: %d\n", why, r.Refused[why])
	}
	a.out.print("%d calls of models, %d batches, %d replies with something wrong; %d tokens asked, %d answered\n", r.Calls, r.Batches, r.Invalid, r.Spent.PromptTokens, r.Spent.ReplyTokens)
	if r.Tasks > 0 && r.Eval == 0 {
		a.out.print("in run.yaml: env: {use: mcp, tasks: {train: 0-%d}, mcp: {tasks: %s, ...}}, eval: {every: 0}, since there is nothing to evaluate with\n", r.Tasks-1, out)
	}
	if r.Tasks > r.Eval && r.Eval > 0 {
		a.out.print("in run.yaml: env: {use: mcp, tasks: {train: 0-%d, eval: 0-%d}, mcp: {tasks: %s, ...}}\n", r.Tasks-r.Eval-1, r.Eval-1, out)
	}
}
