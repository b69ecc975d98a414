package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// report is what a checker, or the agent itself, prints as its last line.
type report struct {
	Score   *float64           `json:"score"`
	Reason  string             `json:"reason"`
	Metrics map[string]float64 `json:"metrics"`
}

// reported finds a score in the last line of an output.
func reported(output string) (rl.Score, bool) {
	var r report
	line := lastLine(output)
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &r) != nil || r.Score == nil {
		return rl.Score{}, false
	}
	return rl.Score{Value: *r.Score, Reason: r.Reason, Metrics: r.Metrics}, true
}

// ended is how an agent's program came to its end.
type ended struct {
	stop   rl.StopReason
	output string
	how    string // "exit status 1: ..."; empty after a success
}

// score rates an episode: by env.agent.check, else by what the agent reports. Without a report an agent that gave up, or was cut
// off, has earned nothing; one that ended well has no score, unless a judge gives it one.
func (a *Agent) score(ctx context.Context, task Task, dir string, e ended) (rl.Score, error) {
	if a.Check != "" {
		return a.check(ctx, task, dir, e)
	}
	if s, ok := reported(e.output); ok {
		return s, nil
	}
	switch {
	case e.stop == rl.AgentFailed:
		return rl.Score{Reason: "the agent gave up: " + e.how}, nil
	case e.stop != rl.Answered:
		return rl.Score{Reason: "cut off (" + string(e.stop) + ") before the agent reported a score"}, nil
	}
	return rl.Score{Unscored: `the last line of the agent's output is no {"score": NUMBER}, and there is no env.agent.check`}, nil
}

// check asks the command that scores. Its own failure is none of the agent's.
func (a *Agent) check(ctx context.Context, task Task, dir string, e ended) (rl.Score, error) {
	line := rl.CanonicalJSON(task)
	told := []string{"LONGHAUL_TASK=" + string(line), "LONGHAUL_GOAL=" + task.Goal, "LONGHAUL_STOP=" + string(e.stop)}
	p, err := a.start("env.agent.check", a.Check, dir, told, nil, e.output)
	if err != nil {
		return rl.Score{}, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(0)
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, "env.agent.check has not ended in time: %w", context.Cause(ctx))
	}
	p.finish()
	if s, ok := reported(p.output()); ok && p.Status() == 0 {
		return s, nil
	}
	switch p.Status() {
	case 0:
		return rl.Score{Value: 1, Reason: "env.agent.check: success"}, nil
	case 1:
		return rl.Score{Reason: "env.agent.check: " + rest(p, "no success")}, nil
	}
	return rl.Score{}, rl.Errorf(rl.Unavailable, at, "env.agent.check: %s", failure(p))
}

// rest is the last line of a program's output, or other words when it printed nothing.
func rest(p *program, otherwise string) string {
	if line := lastLine(p.output()); line != "" {
		return line
	}
	return otherwise
}

// failure says how a program failed: its status, and the end of its error output.
func failure(p *program) string {
	if words := strings.TrimSpace(p.errs.text(p.hide)); words != "" {
		return fmt.Sprintf("%s: ...%s", p.Ended(), strings.ToValidUTF8(words[max(0, len(words)-failureTail):], ""))
	}
	return p.Ended()
}
