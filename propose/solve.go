package propose

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// candidate is a task that is to be solved before it counts.
type candidate struct {
	task    mcp.Task
	answer  string // that a right answer contains, as the writer says
	refused string // why it does not count; empty: it does
}

// outcome is what came of an attempt. It is recorded before it counts, and the attempt is not played again: the environment may say
// other things another time, and then later questions would be others, too.
type outcome struct {
	Refused  string     `json:"refused,omitempty"` // why it is no success; empty: it is one
	Why      string     `json:"why,omitempty"`     // the strong model's words
	Calls    int        `json:"calls,omitempty"`   // of tools
	Solution []mcp.Step `json:"solution,omitempty"`
}

// solve has the strong model play tasks, side by side, and notes with each how that went. A task is refused when no attempt of Tries is
// a success. The error is one of the models, the environment or the journal.
func (p *proposer) solve(ctx context.Context, all []*candidate) error {
	if p.Solver.Model == "" || len(all) == 0 {
		return nil
	}
	var tasks []mcp.Task
	for _, c := range all {
		tasks = append(tasks, c.task)
	}
	world, err := p.servers.World(tasks)
	if err != nil {
		return err
	}
	errs := make([]error, len(all))
	room := make(chan struct{}, max(p.Concurrency, 1))
	var wait sync.WaitGroup
	for i, c := range all {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			errs[i] = p.tried(ctx, world, world.Task(rl.Train, i), c)
		})
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// tried plays a task until an attempt is a success.
func (p *proposer) tried(ctx context.Context, world envs.World, task rl.Task, c *candidate) error {
	for try := range p.Tries {
		key := p.attemptKey(c.task, try)
		o, known := p.journal.outcome(key)
		if !known {
			var err error
			if o, err = p.attempt(ctx, world, task, c.task, key, try); err != nil {
				return err
			}
			if err := p.journal.add(entry{Attempt: key, Outcome: &o}); err != nil {
				return err
			}
		}
		if c.refused = o.Refused; c.refused == "" {
			c.solved(p.Solver.Model, o, try+1)
			return nil
		}
	}
	return nil
}

// attemptKey names an attempt by all that it follows from: what another model did, or did with other tools, is another one.
func (p *proposer) attemptKey(t mcp.Task, try int) string {
	sum := sha256.Sum256(rl.CanonicalJSON(map[string]any{
		"prompt": promptVersion, "url": p.Solver.URL, "model": p.Solver.Model, "temperature": p.Temperature, "tokens": p.ReplyTokens,
		"turns": p.Env.MaxTurns, "seed": p.Seed, "system": p.spec.System, "tools": p.spec.Tools, "goal": t.Goal, "files": t.Files, "rubric": t.Rubric, "try": try,
	}))
	return hex.EncodeToString(sum[:])
}

// attempt is one attempt at a task, and what the strong model says of it. Errors are those of the models, and the journal's.
func (p *proposer) attempt(ctx context.Context, world envs.World, task rl.Task, own mcp.Task, key string, try int) (outcome, error) {
	t, refused, err := p.play(ctx, world, task, key, try)
	if err != nil || refused != "" {
		return outcome{Refused: refused}, err
	}
	good, why, err := p.verify(ctx, own, t)
	if err != nil || !good {
		return outcome{Refused: "not solved", Why: why}, err
	}
	o := outcome{Why: why}
	answer := ""
	for _, turn := range t.Turns {
		for _, call := range turn.Action.Message.ToolCalls {
			o.Calls++
			if call.Invalid == "" {
				o.Solution = append(o.Solution, mcp.Step{Tool: call.Name, Arguments: call.Arguments})
			}
		}
		answer = turn.Action.Message.Content
	}
	o.Solution = append(o.Solution, mcp.Step{Answer: answer})
	return o, nil
}

// Why an attempt came to nothing that the strong model could judge, by the boundary at which it failed.
var refusals = map[rl.LeftOut]string{
	rl.EnvFailed: "the environment failed", rl.Voided: "the environment said other things than before", rl.PolicyFailed: "the solver's server refused it",
}

// envTries is how often an attempt is made while the environment fails.
const envTries = 3

// play plays a task to its end, or says why it cannot be. It goes on where it was when this process was killed; where the environment then
// says other things than it said, it begins anew, once, unless what it did must be done only once. Errors: the solver's server, when it
// refuses everything or stays away; Exhausted; the journal's.
func (p *proposer) play(ctx context.Context, world envs.World, task rl.Task, key string, try int) (t *rl.Trajectory, refused string, err error) {
	voided := false
	for failed := 1; ; failed++ {
		if t, err = p.run(ctx, world, task, key, try); err == nil {
			return t, "", nil
		}
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		turns, _ := p.journal.attempt(key)
		switch boundary, final := rollout.OwnFailure(err); {
		case boundary == rl.Voided && !voided && rollout.Repeatable(p.spec, turns):
			voided = true
			if err := p.journal.add(entry{Attempt: key}); err != nil {
				return nil, "", err
			}
			continue
		case final, boundary == rl.EnvFailed && failed >= envTries:
			return nil, refusals[boundary], nil
		case boundary == "" && rl.KindOf(err) != rl.Unavailable, failed >= patience:
			return nil, "", err
		}
		if err := rest(ctx, failed, err); err != nil {
			return nil, "", err
		}
	}
}

// run plays a task once, from where the journal has it.
func (p *proposer) run(ctx context.Context, world envs.World, task rl.Task, key string, try int) (*rl.Trajectory, error) {
	if err := p.spend(); err != nil {
		return nil, err
	}
	defer p.made()
	env := envs.Guard(world.New(), world.Name)
	defer env.Close()
	turns, anew := p.journal.attempt(key)
	return rollout.Run(ctx, env, p.solver, rollout.Options{
		Episode: rl.EpisodeID{Run: "propose", Task: task.ID, Member: try}, Task: task, Model: p.Solver.Model, Version: rl.Version(p.Solver.Model),
		Temperature: p.Temperature, MaxTokens: p.ReplyTokens, MaxTurns: p.Env.MaxTurns, EpisodeTimeout: time.Duration(p.Env.EpisodeTimeout), TurnTimeout: p.Timeout,
		Seed: rl.Seed(p.Seed, "solve", key), Recorded: turns, Key: fmt.Sprintf("propose/%s~%d", key, anew), // episodes of other batches have the same ids
		Record: func(_ context.Context, turn rl.Recorded) error {
			if err := p.journal.add(entry{Attempt: key, Turn: &turn}); err != nil {
				return err
			}
			return p.more()
		},
	})
}

// solved notes how a task was solved: the calls that it took are its solution, and the text that the writer expects in every answer
// becomes a check where this answer has it.
func (c *candidate) solved(by string, o outcome, attempts int) {
	from := c.task.Origin
	from.Solver, from.Verdict, from.Attempts, from.Calls = by, o.Why, attempts, o.Calls
	c.task.Solution = o.Solution
	if answer := o.Solution[len(o.Solution)-1].Answer; c.answer != "" && strings.Contains(answer, c.answer) {
		c.task.Checks = []mcp.Check{{Answer: true, Contains: c.answer}}
	}
}
