package envs

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

func init() {
	Register(World{
		Name: "orders", New: func() Env { return &orders{} }, Task: ordersTask,
		Facts: func(t rl.Task) []string { return orderOf(t.Split, t.Index).facts() }, Reference: ordersReference, Demonstrate: ordersDemonstration,
		Rubric: func(rl.Task) string { return ordersRubric },
	})
}

// orders is the order desk: the agent finds out where an order is.
//
//	user:  where is order 48?
//	agent: find_order 48     -> 48 in box C7       (or "48 in box C7, fragile")
//	agent: track_box C7      -> C7 in box D2       (while the box lies in another one)
//	agent: track_box D2      -> D2 at Oslo 7
//	agent: inspect D2        -> D2 intact          (a box that only holds a box is "empty")
//	agent: answer Oslo 7     -> the end
//
// The score is 1 when the place is right and, for a fragile order, the last box was inspected before the answer;
// else 0. Nothing that the agent is told names that second rule: only trying finds it. Any call but answer may be
// "busy", by the task and the call's number alone, so that all members of a group meet the same desk. An unknown
// id is "none", arguments that fit no tool are a "bad call".
type orders struct {
	order order
	state ordersState
	open  bool // an episode runs
}

// ordersState is a snapshot: what an episode of a task has come to.
type ordersState struct {
	Split     rl.Split `json:"split"`
	Index     int      `json:"index"`
	Calls     int      `json:"calls"`     // all but answers
	Inspected bool     `json:"inspected"` // the last box was
	Answered  bool     `json:"answered"`
	Place     string   `json:"place"` // the answer
}

func (o *orders) Spec() Spec { return ordersSpec }

func (o *orders) Reset(_ context.Context, task rl.Task) (rl.Observation, error) {
	drawn := orderOf(task.Split, task.Index)
	if task != drawn.task(task.Split, task.Index) || !ordersSplit(task.Split) || task.Index < 0 {
		return rl.Observation{}, rl.Errorf(rl.Invalid, ordersAt, "%+v is not a task of the order desk", task)
	}
	*o = orders{order: drawn, state: ordersState{Split: task.Split, Index: task.Index}, open: true}
	question := rl.Message{Role: rl.User, Content: "where is order " + o.order.number + "?"}
	return rl.Observation{Messages: []rl.Message{question}}, nil
}

const ordersAt = "environment orders"

func (o *orders) Step(_ context.Context, call Call) (Result, error) {
	if err := o.running(); err != nil {
		return Result{}, err
	}
	if o.state.Answered {
		return Result{Content: "closed", Done: true}, nil
	}
	argument, fits := ordersArgument(call.ToolCall)
	if call.Name == "answer" && fits {
		o.state.Answered, o.state.Place = true, argument
		return Result{Done: true}, nil
	}
	o.state.Calls++
	switch {
	case o.order.busy(o.state.Calls):
		return Result{Content: "busy"}, nil
	case !fits:
		return Result{Content: "bad call"}, nil
	}
	return Result{Content: o.ask(call.Name, argument)}, nil
}

// ask is what the desk knows, when it is not busy.
func (o *orders) ask(tool, id string) string {
	boxes, last := o.order.boxes, len(o.order.boxes)-1
	if tool == "find_order" {
		switch {
		case id != o.order.number:
			return "none"
		case o.order.fragile:
			return id + " in box " + boxes[0] + ", fragile"
		}
		return id + " in box " + boxes[0]
	}
	for i, box := range boxes {
		switch {
		case box != id:
		case tool == "track_box" && i == last:
			return box + " at " + o.order.place
		case tool == "track_box":
			return box + " in box " + boxes[i+1]
		case i == last:
			o.state.Inspected = true
			return box + " intact"
		default:
			return box + " empty"
		}
	}
	return "none"
}

// ordersArgument is the one argument of a call, and whether the call fits a tool of the desk.
func ordersArgument(call rl.ToolCall) (string, bool) {
	for _, tool := range ordersSpec.Tools {
		if tool.Name != call.Name || tool.Check(call.Arguments) != "" {
			continue
		}
		var given map[string]string
		if err := json.Unmarshal(call.Arguments, &given); err != nil {
			return "", false
		}
		for _, argument := range given { // there is exactly one
			return strings.TrimSpace(argument), true
		}
	}
	return "", false
}

func (o *orders) Snapshot(context.Context) ([]byte, error) {
	if err := o.running(); err != nil {
		return nil, err
	}
	return rl.CanonicalJSON(o.state), nil
}

func (o *orders) Restore(_ context.Context, snapshot []byte) error {
	var s ordersState
	decoder := json.NewDecoder(bytes.NewReader(snapshot))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return rl.Errorf(rl.Corrupt, ordersAt, "the snapshot cannot be read: %w", err)
	}
	if decoder.More() || !ordersSplit(s.Split) || s.Index < 0 || s.Calls < 0 {
		return rl.Errorf(rl.Corrupt, ordersAt, "the snapshot is of no task of the order desk: %+v", s)
	}
	*o = orders{order: orderOf(s.Split, s.Index), state: s, open: true}
	return nil
}

func (o *orders) Score(context.Context) (rl.Score, error) {
	if err := o.running(); err != nil {
		return rl.Score{}, err
	}
	switch {
	case !o.state.Answered:
		return rl.Score{Reason: "no answer"}, nil
	case o.state.Place != o.order.place:
		return rl.Score{Reason: "wrong place; it is at " + o.order.place}, nil
	case o.order.fragile && !o.state.Inspected:
		return rl.Score{Reason: "right place, but the order is fragile and its last box was not inspected"}, nil
	}
	return rl.Score{Value: 1, Reason: "right place"}, nil
}

func (o *orders) Close() error {
	o.open = false
	return nil
}

func (o *orders) running() error {
	if !o.open {
		return rl.Errorf(rl.Invalid, ordersAt, "no episode runs: Reset comes first")
	}
	return nil
}
