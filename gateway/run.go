package gateway

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// temporary is the exit status of a program that could do nothing for it that it failed (EX_TEMPFAIL of sysexits.h): the episode
// is tried again, and is never a reward.
const temporary = 75

// signalled reports whether an exit status is that of a program that a signal has ended (child.Process.Status), or of a shell, npx or
// docker that says so of the program which it has started.
func signalled(status int) bool { return status < 0 || status > 128 && status <= 128+64 }

// Run plays one episode: it starts the agent, which asks for its turns by HTTP, and returns the record. It takes one of the
// policy client's places for a live episode. What o.Recorded has is answered from there, to an agent that asks the same again;
// the options for calls of tools are not used, since the agent calls its tools by itself.
//
// The agent's end decides what an episode is. Exit status 0: it is over. Any other status after the policy has answered: the agent
// gave up (rl.AgentFailed), which is what bad answers lead to, and the episode is scored as it stands. The environment has failed,
// and the episode is tried again, when the agent ends with 75 or by a signal, fails before it got an answer, or while it waits for
// one, as clients do that were not answered in time, or has asked nothing when its time is over: then the policy had no part in it.
//
// Errors are *rl.Error: the policy's (see policy.Seat.Act), those of the program and of env.agent.check (At "environment agent"),
// Record's, Corrupt when o.Recorded contradicts itself. When ctx ends, the error is its own.
func (a *Agent) Run(ctx context.Context, s *Server, p *policy.Client, o rollout.Options) (*rl.Trajectory, error) {
	task, err := a.task(o.Task)
	if err != nil {
		return nil, err
	}
	var seat *policy.Seat
	if !o.Exact {
		if seat, err = p.Acquire(ctx); err != nil {
			return nil, err
		}
		defer seat.Release()
	}
	dir, err := child.Dir()
	if err != nil {
		return nil, rl.Errorf(rl.Unavailable, at, "%w", err)
	}
	defer os.RemoveAll(dir)
	live, cancel := policy.Within(ctx, o.EpisodeTimeout)
	defer cancel()
	e, err := s.open(live, ctx, p, o)
	if err != nil {
		return nil, err
	}
	e.seat <- seat
	end, err := a.play(live, e, task, dir)
	cancel()
	e.close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	t := e.trajectory(end)
	scoring := ctx
	if o.TurnTimeout > 0 {
		var done context.CancelFunc
		scoring, done = context.WithTimeout(ctx, o.TurnTimeout)
		defer done()
	}
	if t.Outcome, err = a.score(scoring, task, dir, end); err != nil {
		return nil, err
	}
	for name, v := range t.Outcome.Numbers() {
		if !rl.Countable(v) {
			return nil, rl.Errorf(rl.Invalid, at, "the score's %s is %g, which is no number to learn from", name, v)
		}
	}
	return t, nil
}

// play runs the agent until it ends, or the episode does.
func (a *Agent) play(live context.Context, e *Episode, task Task, dir string) (end ended, err error) {
	told := []string{"OPENAI_BASE_URL=" + e.URL, "OPENAI_API_KEY=" + e.Key, "LONGHAUL_GOAL=" + task.Goal}
	if task.Data != nil {
		told = append(told, "LONGHAUL_TASK="+string(task.Data))
	}
	input, words := "", []string(nil)
	switch a.Goal {
	case "stdin":
		input = task.Goal
	case "argument":
		words = []string{task.Goal}
	}
	p, err := a.start("env.agent.command", a.Command, dir, told, map[string]string{e.Key: "OPENAI_API_KEY"}, input, words...)
	if err != nil {
		return end, err
	}
	defer p.Stop(0)
	select {
	case <-p.Done():
		p.finish()
	case <-e.over:
		p.Stop(grace)
		return ended{stop: e.stop, output: p.output(), how: string(e.stop), hide: p.hide}, e.err
	case <-live.Done():
		p.Stop(grace)
		return e.late(p)
	}
	return e.judged(p)
}

// late says what an episode is whose time has ended before the agent did: cut off. Where the agent had not come to its first
// question, slow to start or stuck, the policy had no part in it.
func (e *Episode) late(p *program) (ended, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.asks) == 0 {
		return ended{}, rl.Errorf(rl.Unavailable, at, "the agent had asked the policy nothing when its time (env.episode_timeout, %s) was over; agents that run at once (policy.concurrency) share the processors: %s", e.EpisodeTimeout, failure(p))
	}
	return ended{stop: rl.Timeout, output: p.output(), how: string(rl.Timeout), hide: p.hide}, nil
}

// judged says what the end of the agent's program means.
func (e *Episode) judged(p *program) (ended, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	end := ended{stop: rl.Answered, output: p.output(), hide: p.hide}
	status, answered := p.Status(), slices.ContainsFunc(e.told.turns, func(t *turn) bool { return t.used })
	switch {
	case e.ended(): // a turn failed, and the agent ended before it was told to
		end.stop, end.how = e.stop, string(e.stop)
		return end, e.err
	case status == 0 && len(e.asks) == 0:
		return end, rl.Errorf(rl.Invalid, at, "the agent ended without a question to the policy: does it use OPENAI_BASE_URL? %s", failure(p))
	case status == 0:
		return end, nil
	case signalled(status), status == temporary, !answered && !e.full:
		return end, rl.Errorf(rl.Unavailable, at, "the agent: %s", failure(p))
	case e.owed():
		return end, rl.Errorf(rl.Unavailable, at, "the agent ended while it waited for the policy: %s", failure(p))
	}
	if end.stop = rl.AgentFailed; e.full {
		end.stop = rl.ContextLimit
	}
	end.how = failure(p)
	return end, nil
}

// trajectory is the record of the episode.
func (e *Episode) trajectory(end ended) *rl.Trajectory {
	t := &rl.Trajectory{
		Schema: rl.TrajectorySchema, Episode: e.Episode, Task: e.Task, Policy: rl.PolicySpan{First: e.Version, Last: e.Version},
		Turns: e.told.trajectory(), Stop: end.stop,
	}
	if output := strings.TrimSpace(end.output); output != "" {
		t.Closing.Messages = []rl.Message{{Role: rl.User, Content: output}}
	}
	if n := len(t.Turns); n > 0 {
		t.Policy = rl.PolicySpan{First: t.Turns[0].Action.Version, Last: t.Turns[n-1].Action.Version}
	}
	return t
}
