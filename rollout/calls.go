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
func (e *episode) execute(ctx, live context.Context, action rl.Message) (o rl.Observation, reward float64, stop rl.StopReason, err error) {
	if len(action.ToolCalls) == 0 {
		return e.text(ctx, live, action.Content)
	}
	for n, call := range action.ToolCalls {
		content := afterTheEnd
		switch stop {
		case rl.Timeout:
			content = afterTheTime
		case "":
			var r envs.Result
			r, stop, err = e.call(ctx, live, n, call)
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
func (e *episode) text(ctx, live context.Context, text string) (o rl.Observation, reward float64, stop rl.StopReason, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return o, 0, rl.EmptyAction, nil // not asked again: that is a loop without an end
	case e.spec.TextEnds:
		r, stop, err := e.step(live, envs.Tool{}, envs.Call{ToolCall: rl.ToolCall{Name: envs.FinalText, Arguments: rl.CanonicalJSON(text)}, Key: e.key(0)})
		if err == nil && stop == "" {
			stop = rl.Answered
		}
		return o, r.Reward, stop, err
	}
	say := e.spec.NoCall
	if say == "" {
		say = "bad call: your message calls no tool; the tools are " + e.spec.ToolNames()
	}
	o.Messages = []rl.Message{{Role: rl.User, Content: say}}
	return o, 0, "", nil
}

// call executes call n of the latest action, or says what is wrong with it.
func (e *episode) call(ctx, live context.Context, n int, call rl.ToolCall) (envs.Result, rl.StopReason, error) {
	if call.Invalid != "" {
		return envs.Result{Content: "bad call: " + call.Invalid}, "", nil
	}
	if wrong := e.spec.Refuses(call); wrong != "" {
		return envs.Result{Content: wrong}, "", nil
	}
	tool, _ := e.spec.Tool(call.Name)
	if r, ok := e.remembered(n, tool); ok {
		return r, ended(r), nil
	}
	keyed := envs.Call{ToolCall: call, Key: e.key(n)}
	if !tool.Effect.External() {
		return e.step(live, tool, keyed)
	}
	if e.Inside {
		return envs.Result{}, "", rl.Errorf(rl.Refused, "environment "+e.Task.Env, "%s has an effect outside the episode, and what call %s gave is not recorded: it is not executed here", call.Name, keyed.Key)
	}
	r, known, err := e.settled(ctx, live, n, tool, keyed)
	stop := ended(r)
	if err == nil && !known {
		r, stop, err = e.step(live, tool, keyed)
	}
	if err == nil && stop != rl.Timeout && e.RecordResult != nil {
		err = e.RecordResult(ctx, len(e.turns)-1, n, rl.CallResult{Content: r.Content, Done: r.Done, Reward: r.Reward})
	}
	return r, stop, err
}

// key names call n of the latest action, the same however often it is sent.
func (e *episode) key(n int) string { return fmt.Sprintf("%s/%d/%d", e.Key, len(e.turns)-1, n) }

func ended(r envs.Result) rl.StopReason {
	if r.Done {
		return rl.Answered
	}
	return ""
}

// step runs a call in the environment, under the deadlines and the cap of its tool.
func (e *episode) step(live context.Context, tool envs.Tool, call envs.Call) (envs.Result, rl.StopReason, error) {
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
	if !rl.Countable(r.Reward) {
		return r, "", rl.Errorf(rl.Invalid, "environment "+e.Task.Env, "%s earned %g, which is no number to learn from", call.Name, r.Reward)
	}
	r.Content = capped(r.Content, tool.OutputCap)
	return r, ended(r), nil
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
