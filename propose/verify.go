package propose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/envs/mcp"
	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

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
		if errors.Is(err, endpoint.ErrConversation) || errors.Is(err, endpoint.ErrContextLimit) { // this attempt's, not others'
			return false, "the server refuses the question whether it did", nil
		}
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
