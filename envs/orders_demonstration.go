package envs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/longhaul-rl/longhaul/rl"
)

// What the demonstrator does besides leading on. Dithering shows that calls may be repeated and that a box can be
// inspected, without a hint of when that pays; it never happens twice running, since "inspect, inspect again" costs
// nothing under a reward at the end, and greedy play that learnt it would never end. Slips show what a wrong id
// gives; they are not imitated.
const (
	ordersDither    = .25 // share of calls that are some tool on an id that is known
	ordersSlip      = .2  // share of calls with an id that is wrong
	ordersDemoCalls = 12  // a demonstration ends after so many calls, answered or not
)

// ordersDemonstration plays a warm-up task.
func ordersDemonstration(ctx context.Context, seed uint64) (rl.Demonstration, error) {
	desk := &orders{}
	rng := rand.New(rand.NewPCG(seed, 1))
	o, err := desk.Reset(ctx, ordersTask(rl.WarmUp, rng.IntN(math.MaxInt32)))
	if err != nil {
		return rl.Demonstration{}, err
	}
	d := rl.Demonstration{Messages: []rl.Message{{Role: rl.System, Content: ordersSpec.System}, o.Messages[0]}, Imitate: []bool{false, false}}
	var c clerk
	c.read(o.Messages[0])
	for dithered, calls := false, 0; calls < ordersDemoCalls; calls++ {
		tool, argument := c.next()
		u := rng.Float64()
		slip, dither := u < ordersSlip, u >= ordersSlip && u < ordersSlip+ordersDither && c.box != "" && !dithered
		switch dithered = dither; {
		case slip:
			tool, argument = wrongCall(rng, desk.order)
		case dither:
			tool, argument = anyCall(rng, c.order, c.box)
		}
		action := ordersCall(calls, tool, argument)
		result, err := desk.Step(ctx, Call{ToolCall: action.ToolCalls[0]})
		if err != nil {
			return d, err
		}
		d.Messages, d.Imitate = append(d.Messages, action), append(d.Imitate, !slip)
		if result.Done {
			break
		}
		answer := rl.Message{Role: rl.ToolRole, Content: result.Content, ToolCallID: action.ToolCalls[0].ID}
		d.Messages, d.Imitate = append(d.Messages, answer), append(d.Imitate, false)
		c.read(answer)
	}
	return d, nil
}

func anyCall(rng *rand.Rand, order, box string) (tool, argument string) {
	switch rng.IntN(3) {
	case 0:
		return "find_order", order
	case 1:
		return "track_box", box
	}
	return "inspect", box
}

// wrongCall is a call with an id that has nothing to do with the order.
func wrongCall(rng *rand.Rand, o order) (tool, argument string) {
	number, box := o.number, o.boxes[0]
	for number == o.number {
		number = fmt.Sprintf("%02d", rng.IntN(100))
	}
	for box == o.boxes[0] {
		box = randomBox(rng)
	}
	return anyCall(rng, number, box)
}
