package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/longhaul-rl/longhaul/child"
	"github.com/longhaul-rl/longhaul/rl"
)

// report is a score in the words of a checker, which prints it as its last line, or of the agent's program.
type report struct {
	Score   *float64           `json:"score"`
	Reason  string             `json:"reason"`
	Metrics map[string]float64 `json:"metrics"`
}

// reported reads a report.
func reported(text string) (rl.Score, bool) {
	var r report
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &r) != nil || r.Score == nil {
		return rl.Score{}, false
	}
	return rl.Score{Value: *r.Score, Reason: r.Reason, Metrics: r.Metrics}, true
}

// own is the file in the episode's directory in which the agent's program may report its score. What it prints is not looked at:
// mostly that is what the policy has said.
const own = "score.json"

// ownReport reads that file, if there is one.
func ownReport(dir string, hide *child.Hider) (s rl.Score, ok bool, err error) {
	path := filepath.Join(dir, own)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	var text []byte
	if err == nil && info.Mode().IsRegular() && info.Size() <= maxReport {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return s, false, rl.Errorf(rl.Unavailable, at, "%s: %w", own, err)
	}
	said := hide.Replace(strings.TrimSpace(string(text)))
	if s, ok = reported(said); !ok {
		return s, false, rl.Errorf(rl.Unavailable, at, `%s is no {"score": NUMBER} of at most %d bytes: %.200q`, own, maxReport, said)
	}
	return s, true, nil
}

const maxReport = 64 << 10 // bytes

// ended is how an agent's program came to its end.
type ended struct {
	stop   rl.StopReason
	output string
	how    string // "exit status 1: ..."; empty after a success
	hide   *child.Hider
}

// score rates an episode: by env.agent.check, else by what the agent's program reports. Without a report an agent that gave up, or
// was cut off, has earned nothing; one that ended well has no score, unless a judge gives it one.
func (a *Agent) score(ctx context.Context, task Task, dir string, e ended) (rl.Score, error) {
	if a.Check != "" {
		return a.check(ctx, task, dir, e)
	}
	if s, ok, err := ownReport(dir, e.hide); ok || err != nil {
		return s, err
	}
	switch {
	case e.stop == rl.AgentFailed:
		return rl.Score{Reason: "the agent gave up: " + e.how}, nil
	case e.stop != rl.Answered:
		return rl.Score{Reason: "cut off (" + string(e.stop) + ") before the agent reported a score"}, nil
	}
	return rl.Score{Unscored: "the agent wrote no score to LONGHAUL_DIR/" + own + ", and there is no env.agent.check"}, nil
}

// check asks the command that scores. Its own failure is none of the agent's. Interpreters and most scripts end with 1 when they
// fail themselves, and say why on their error output: so 1 is the agent's failure only where nothing is there.
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
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, "env.agent.check has not ended within env.turn_timeout: %w", context.Cause(ctx))
	}
	p.finish()
	last := lastLine(p.output())
	s, scored := reported(last)
	switch status := p.Status(); {
	case status == 0 && scored:
		return s, nil
	case status == 0 && strings.HasPrefix(last, "{") && strings.Contains(last, "score"): // NaN, or as Python prints a dict: no success
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, `env.agent.check: its last line is no {"score": NUMBER}: %.200q`, last)
	case status == 0:
		return rl.Score{Value: 1, Reason: "env.agent.check: success"}, nil
	case status == 1 && strings.TrimSpace(p.errs.Text(p.hide)) == "":
		return rl.Score{Reason: "env.agent.check: " + cmp.Or(last, "no success")}, nil
	case status == 1:
		return rl.Score{}, rl.Errorf(rl.Unavailable, at, "env.agent.check: %s (no success is status 1 and nothing on the error output)", failure(p))
	}
	return rl.Score{}, rl.Errorf(rl.Unavailable, at, "env.agent.check: %s", failure(p))
}

// failure says how a program failed: its status, and the end of its error output.
func failure(p *program) string {
	if words := strings.TrimSpace(p.errs.Text(p.hide)); words != "" {
		return fmt.Sprintf("%s: ...%s", p.Ended(), strings.ToValidUTF8(words[max(0, len(words)-failureTail):], ""))
	}
	return p.Ended()
}
