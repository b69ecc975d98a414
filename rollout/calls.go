package rollout

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// What stands in the place of the result of a call that was not executed.
const (
	afterTheEnd  = "not executed: the episode has ended"
	afterTheTime = "no result: the episode's time is over"
)

// execute does what an action asks for. Every call gets its own result, in order, whatever became of the others.
// stop is empty when the episode goes on.
func (e *episode) execute(live context.Context, action rl.Message) (o rl.Observation, reward float64, stop rl.StopReason, err error) {
	if len(action.ToolCalls) == 0 {
		return e.text(live, action.Content)
	}
	for _, call := range action.ToolCalls {
		content := afterTheEnd
		switch stop {
		case rl.Timeout:
			content = afterTheTime
		case "":
			var r envs.Result
			r, stop, err = e.call(live, call)
			if err != nil {
				return o, 0, "", err
			}
			content, reward = r.Content, reward+r.Reward
		}
		o.Messages = append(o.Messages, rl.Message{Role: rl.ToolRole, Content: content, ToolCallID: call.ID})
	}
	return o, reward, stop, nil
}

// text takes in an action without a call.
func (e *episode) text(live context.Context, text string) (o rl.Observation, reward float64, stop rl.StopReason, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return o, 0, rl.EmptyAction, nil // not asked again: that is a loop without an end
	case e.spec.TextEnds:
		r, stop, err := e.step(live, envs.Tool{}, rl.ToolCall{Name: envs.FinalText, Arguments: rl.CanonicalJSON(text)})
		if err == nil && stop == "" {
			stop = rl.Answered
		}
		return o, r.Reward, stop, err
	}
	say := e.spec.NoCall
	if say == "" {
		say = "bad call: your message calls no tool; the tools are " + e.toolNames()
	}
	o.Messages = []rl.Message{{Role: rl.User, Content: say}}
	return o, 0, "", nil
}

// call executes one call, or says what is wrong with it.
func (e *episode) call(live context.Context, call rl.ToolCall) (envs.Result, rl.StopReason, error) {
	if call.Invalid != "" {
		return envs.Result{Content: "bad call: " + call.Invalid}, "", nil
	}
	for _, tool := range e.spec.Tools {
		if tool.Name != call.Name {
			continue
		}
		if wrong := tool.Check(call.Arguments); wrong != "" {
			return envs.Result{Content: "bad call: " + wrong}, "", nil
		}
		return e.step(live, tool, call)
	}
	return envs.Result{Content: fmt.Sprintf("bad call: there is no tool %.64q; the tools are %s", call.Name, e.toolNames())}, "", nil
}

// step runs a call in the environment, under the deadlines and the cap of its tool.
func (e *episode) step(live context.Context, tool envs.Tool, call rl.ToolCall) (envs.Result, rl.StopReason, error) {
	limit := tool.Timeout
	if limit == 0 {
		limit = e.TurnTimeout
	}
	calling, cancel := within(live, limit)
	defer cancel()
	r, err := e.env.Step(calling, call)
	switch {
	case err != nil && live.Err() != nil: // Run tells the episode's deadline from the caller's end
		return envs.Result{Content: afterTheTime}, rl.Timeout, nil
	case err != nil && calling.Err() != nil:
		return r, "", rl.Errorf(rl.Unavailable, "environment "+e.Task.Env, "%s gave no result within %s: %w", call.Name, limit, err)
	case err != nil:
		return r, "", e.envError(err)
	}
	r.Content = capped(r.Content, tool.OutputCap)
	if r.Done {
		return r, rl.Answered, nil
	}
	return r, "", nil
}

// capped is a result as the policy sees it: valid UTF-8 (the record is JSON, and must read as it was), cut to limit
// bytes where there is a limit, and saying so.
func capped(content string, limit int) string {
	content = strings.ToValidUTF8(content, "\uFFFD")
	if limit <= 0 || len(content) <= limit {
		return content
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(content[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[truncated: %d of %d bytes]", content[:cut], cut, len(content))
}
