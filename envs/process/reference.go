package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/longhaul-rl/longhaul/envs"
	"github.com/longhaul-rl/longhaul/rl"
)

// solution asks a program for calls that solve a task.
func (w *world) solution(ctx context.Context, t rl.Task) ([]call, error) {
	at, err := w.pool.visit(ctx)
	if err != nil {
		return nil, err
	}
	defer w.pool.add(at.slot, 0, -1)
	var r referenceReply
	err = at.ask(ctx, request{Do: "reference", Task: taskOf(t.Split, t.Index)}, &r)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(err, ErrOverdue) { // a caller that is cancelled says nothing of it
		at.kill(errors.New("it was ended, since it told no reference in time"))
	}
	return r.Calls, err
}

// referenceTime is how long a program may take to tell a solution.
const referenceTime = time.Minute

// reference plays a task as its program does. Where that has no solution, it says so and plays nothing.
func (w *world) reference(t rl.Task) func([]rl.Message) rl.Message {
	ctx, cancel := context.WithTimeout(context.Background(), referenceTime)
	defer cancel()
	calls, err := w.solution(ctx, t)
	return func(messages []rl.Message) rl.Message {
		turn := 0
		for _, m := range messages {
			if m.Role == rl.Assistant {
				turn++
			}
		}
		if turn >= len(calls) {
			return rl.Message{Role: rl.Assistant, Content: fmt.Sprintf("no reference from here on: %v", err)}
		}
		return calls[turn].message(turn)
	}
}

// message is a call as an action.
func (c call) message(turn int) rl.Message {
	m := rl.Message{Role: rl.Assistant}
	if c.Name == envs.FinalText && json.Unmarshal(c.Arguments, &m.Content) == nil {
		return m
	}
	m.ToolCalls = []rl.ToolCall{{ID: fmt.Sprintf("call_%d", turn), Name: c.Name, Arguments: rl.CanonicalJSON(c.Arguments)}}
	return m
}

// demonstrate shows how a warm-up task is solved.
func (w *world) demonstrate(ctx context.Context, seed uint64) (d rl.Demonstration, err error) {
	t := w.task(rl.WarmUp, int(seed%uint64(w.Count(rl.WarmUp))))
	calls, err := w.solution(ctx, t)
	if err != nil {
		return d, err
	}
	e := &env{world: w}
	defer e.Close()
	o, err := e.Reset(ctx, t)
	if err != nil {
		return d, err
	}
	show := func(m rl.Message) {
		d.Messages, d.Imitate = append(d.Messages, m), append(d.Imitate, m.Role == rl.Assistant)
	}
	if w.spec.System != "" {
		show(rl.Message{Role: rl.System, Content: w.spec.System})
	}
	show(o.Messages[0])
	for turn, c := range calls {
		action := c.message(turn)
		show(action)
		r, err := e.Step(ctx, envs.Call{ToolCall: rl.ToolCall{Name: c.Name, Arguments: c.Arguments}})
		if err != nil {
			return d, err
		}
		if r.Done || len(action.ToolCalls) == 0 {
			break
		}
		show(rl.Message{Role: rl.ToolRole, Content: r.Content, ToolCallID: action.ToolCalls[0].ID})
	}
	return d, nil
}
