package propose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// candidate is a task that is to be solved before it counts.
type candidate struct {
	task    mcp.Task
	answer  string // that a right answer contains, as the writer says
	refused string // why it does not count; empty: it does
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
	world, _, err := mcp.Open(p.Env.MCP, tasks)
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
			errs[i] = p.attempt(ctx, world, world.Task(rl.Train, i), c)
		})
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// attempt plays a task until an attempt is a success.
func (p *proposer) attempt(ctx context.Context, world envs.World, task rl.Task, c *candidate) error {
	for try := range p.Tries {
		t, err := p.play(ctx, world, task, c, try)
		if rl.KindOf(err) != "" && strings.HasPrefix(err.Error(), "environment ") {
			c.refused = "the environment failed"
			continue
		}
		if err != nil {
			return err
		}
		good, why, err := p.verify(ctx, c.task, t)
		if err != nil {
			return err
		}
		if !good {
			c.refused = "not solved"
			continue
		}
		c.refused = ""
		c.solved(p.Solver.Model, t, why, try+1)
		return nil
	}
	return nil
}

// play is one attempt at a task. It goes on where it was when this process was killed; when the environment then says other things than
// it said, it begins anew.
func (p *proposer) play(ctx context.Context, world envs.World, task rl.Task, c *candidate, try int) (*rl.Trajectory, error) {
	key := fmt.Sprintf("%s/%d", mcp.Fold(c.task.Goal), try)
	for again := false; ; again = true {
		if err := p.within(1); err != nil && len(p.journal.attempt(key)) == 0 {
			return nil, err
		}
		env := envs.Guard(world.New(), world.Name)
		t, err := rollout.Run(ctx, env, p.solver, rollout.Options{
			Episode: rl.EpisodeID{Run: "propose", Task: task.ID, Member: try}, Task: task, Model: p.Solver.Model, Version: rl.Version(p.Solver.Model),
			Temperature: p.Temperature, MaxTokens: p.ReplyTokens, MaxTurns: p.Env.MaxTurns, EpisodeTimeout: time.Duration(p.Env.EpisodeTimeout), TurnTimeout: p.Timeout,
			Seed: rl.Seed(p.Seed, "solve", key), Recorded: p.journal.attempt(key),
			Record: func(_ context.Context, turn rl.Recorded) error {
				return p.journal.add(entry{Attempt: key, Turn: &turn})
			},
		})
		env.Close()
		if !errors.Is(err, rollout.ErrDiverged) || again {
			return t, err
		}
		if err := p.journal.add(entry{Attempt: key}); err != nil {
			return nil, err
		}
	}
}

// verify has the strong model say whether an attempt did what the task asks. One that was cut off did not.
func (p *proposer) verify(ctx context.Context, task mcp.Task, t *rl.Trajectory) (good bool, why string, err error) {
	if t.Stop != rl.Answered {
		return false, string(t.Stop), nil
	}
	q := reward.Question{
		Prompt: promptVersion, Model: p.Solver.Model, Form: verdictForm, MaxTokens: p.ReplyTokens, Seed: rl.Seed(p.Seed, "verify"),
		Messages: []rl.Message{{Role: rl.System, Content: verifier}, {Role: rl.User, Content: fmt.Sprintf("Goal:\n%s\n\nWhat makes an attempt good:\n%s\n\nWhat the agent did:\n%s", task.Goal, task.Rubric, transcript(t))}},
	}
	for asked := 1; ; asked++ {
		reply, err := p.ask(ctx, p.verifier, q)
		if err != nil {
			return false, "", err
		}
		good, why, err := verdict(reply.Text)
		if err == nil {
			return good, why, nil
		}
		if asked == maxAsks {
			return false, "no valid verdict", nil
		}
		q = again(q, reply, err)
	}
}

// verdict reads a verifier's reply.
func verdict(text string) (good bool, why string, err error) {
	object, err := reward.Find(text, "success")
	if err != nil {
		return false, "", err
	}
	members, err := reward.Members(object)
	if err != nil {
		return false, "", err
	}
	switch string(members["success"]) {
	case "true":
		good = true
	case "false":
	default:
		return false, "", errors.New(`"success" is neither true nor false`)
	}
	_ = json.Unmarshal(members["why"], &why) // a missing one is no fault
	return good, cut(why, 300), nil
}

// transcript is an attempt as the verifier reads it.
func transcript(t *rl.Trajectory) string {
	var b strings.Builder
	for _, m := range t.Messages()[1:] { // without the goal
		if m.Role == rl.ToolRole {
			fmt.Fprintf(&b, "tool: %s\n", cut(m.Content, 2000))
			continue
		}
		if m.Content != "" {
			fmt.Fprintf(&b, "%s: %s\n", m.Role, cut(m.Content, 4000))
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "%s calls %s with %s\n", m.Role, call.Name, cut(string(call.Arguments), 2000))
		}
	}
	return b.String()
}

// solved notes how a task was solved: the calls that it took are its solution, and the text that the writer expects in every answer
// becomes a check where this answer has it.
func (c *candidate) solved(by string, t *rl.Trajectory, why string, attempts int) {
	o := c.task.Origin
	o.Solver, o.Verdict, o.Attempts = by, why, attempts
	answer := ""
	for _, turn := range t.Turns {
		for _, call := range turn.Action.Message.ToolCalls {
			o.Calls++
			if call.Invalid == "" {
				c.task.Solution = append(c.task.Solution, mcp.Step{Tool: call.Name, Arguments: call.Arguments})
			}
		}
		answer = turn.Action.Message.Content
	}
	c.task.Solution = append(c.task.Solution, mcp.Step{Answer: answer})
	if c.answer != "" && strings.Contains(answer, c.answer) {
		c.task.Checks = []mcp.Check{{Answer: true, Contains: c.answer}}
	}
}
