package envs

import (
	"encoding/json"
	"fmt"

	"github.com/longhaul-rl/longhaul/rl"
)

// ordersSpec is the desk as a chat model is told of it. It says what every answer means and nothing about what a
// fragile order takes. Verbs are the tools' names up to the first "_": the embedded policy says "find 48".
var ordersSpec = Spec{
	System: `You work at the order desk of a warehouse. You are asked where an order is, and find out with the tools.
An order lies in a box. A box lies in another box or stands at a place: a city and a shelf, such as "Oslo 7". The order is where the box stands that holds all the others. Some orders are marked fragile.
The desk answers "busy" when it had no time (ask again), "none" when it knows no such order or box here, and "bad call" when your message was not a call of one of the tools.
When you are done, call answer with the place; that ends the work.`,
	Tools: []Tool{
		ordersTool("find_order", "Tells which box an order was put in.", "order", `The number of the order, two digits such as "48".`),
		ordersTool("track_box", "Tells where a box is: in another box, or at a place.", "box", boxWords),
		ordersTool("inspect", "Looks into a box and tells the state of the goods.", "box", boxWords),
		ordersTool("answer", "Gives the final answer.", "place", `The place of the order, a city and a shelf such as "Oslo 7".`),
	},
	NoCall: "bad call",
}

const ordersRubric = `An attempt is good when its answer names the place where the order is: where the box stands that holds all the others. Of a fragile order, the last box, the one that stands at the place, must have been inspected before the answer; an attempt that did not inspect it is as bad as one with a wrong answer. An attempt without an answer is bad. What else an attempt did, and how long it took, does not matter.`

const boxWords = `The name of the box, a letter and a digit such as "C7".`

// ordersTool is a tool with one string argument. Every call counts for how busy the desk is next, so none is pure.
func ordersTool(name, description, argument, what string) Tool {
	parameters := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string","description":%q}},"required":[%q],"additionalProperties":false}`,
		argument, what, argument)
	return Tool{
		Tool:   rl.Tool{Name: name, Description: description, Parameters: json.RawMessage(parameters)},
		Effect: EpisodeLocal,
	}
}
