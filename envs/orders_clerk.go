package envs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// clerk works the desk from what it was told alone.
type clerk struct {
	order, box, place  string // as far as known
	fragile, inspected bool
}

// read takes in a message. What it does not understand ("busy", "none") changes nothing, so the next call is the
// same again.
func (c *clerk) read(m rl.Message) {
	switch words := strings.Fields(strings.NewReplacer(",", "", "?", "").Replace(m.Content)); {
	case m.Role == rl.User && len(words) == 4: // where is order 48
		c.order = words[3]
	case len(words) >= 4 && words[1] == "in": // 48 in box C7 fragile
		c.box, c.place = words[3], ""
		c.fragile = c.fragile || len(words) == 5
	case len(words) == 4 && words[1] == "at": // D2 at Oslo 7
		c.place = words[2] + " " + words[3]
	case len(words) == 2 && words[1] == "intact":
		c.inspected = true
	}
}

// next is the call that leads on, with its argument.
func (c *clerk) next() (tool, argument string) {
	switch {
	case c.box == "":
		return "find_order", c.order
	case c.place == "":
		return "track_box", c.box
	case c.fragile && !c.inspected:
		return "inspect", c.box
	}
	return "answer", c.place
}

// ordersReference earns full reward: it knows what fragile orders take.
func ordersReference(rl.Task) func([]rl.Message) rl.Message {
	return func(messages []rl.Message) rl.Message {
		var c clerk
		for _, m := range messages {
			if m.Role == rl.User || m.Role == rl.ToolRole {
				c.read(m)
			}
		}
		tool, argument := c.next()
		return ordersCall(len(messages), tool, argument)
	}
}

// ordersCall is an action with one call; n makes its id.
func ordersCall(n int, tool, argument string) rl.Message {
	for _, t := range ordersSpec.Tools {
		if t.Name == tool {
			var s schema
			if err := json.Unmarshal(t.Parameters, &s); err != nil {
				panic(err) // written in orders_spec.go
			}
			call := rl.ToolCall{ID: fmt.Sprintf("call_%d", n), Name: tool, Arguments: rl.CanonicalJSON(map[string]string{s.Required[0]: argument})}
			return rl.Message{Role: rl.Assistant, ToolCalls: []rl.ToolCall{call}}
		}
	}
	panic("envs: the desk has no tool " + tool)
}
