package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Episode is a trajectory and what is known about it beside.
type Episode struct {
	*rl.Trajectory
	Score      *rl.Score // of the run's reward; nil: not judged (yet), or an evaluation
	Advantage  *float64  // mean over the sampled tokens; nil: not trained on
	Advantages []float64 // by turn; shown at each turn where they differ
	LeftOut    string    // why not
}

// Trajectory shows an episode turn by turn, from what the policy saw first to how it ended, in lines of at most width
// columns.
func Trajectory(e Episode, width int, s Style) string {
	var b strings.Builder
	for _, t := range script(e.Trajectory, e.byTurn()) {
		for _, part := range t {
			for _, line := range part.lines(width, s) {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
			}
		}
	}
	for _, part := range ending(e) {
		for _, line := range part.lines(width, s) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// part is a labelled piece of a conversation.
type part struct {
	label string // at most labelWidth-1 columns
	text  string
	tone  string
}

const labelWidth = 7

// lines lays a part out in w columns, the label in a column of its own. The lines are not padded.
func (p part) lines(w int, s Style) (out []string) {
	for i, text := range wrap(clean(p.text), w-labelWidth) {
		label := ""
		if i == 0 {
			label = p.label
		}
		out = append(out, s.paint(faint, pad(label, labelWidth))+s.paint(p.tone, text))
	}
	return out
}

// byTurn are the advantages where they differ from turn to turn.
func (e Episode) byTurn() []float64 {
	if e.Trajectory == nil || len(e.Advantages) != len(e.Turns) || len(e.Advantages) == 0 || slices.Min(e.Advantages) == slices.Max(e.Advantages) {
		return nil
	}
	return e.Advantages
}

// script is the conversation by turns: the opening first, then each action, with its advantage where there are any, why a
// training row begins with it where one does, and the version that it is by where that is another than before, and what
// came back.
func script(t *rl.Trajectory, advantages []float64) [][]part {
	if t == nil {
		return nil
	}
	out, breaks := [][]part{nil}, t.Breaks()
	for i, turn := range t.Turns {
		if words := turn.Elsewhere(); words != "" {
			out[i] = append(out[i], part{"", words, faint})
		}
		out[i] = append(out[i], heard(turn.Observation)...)
		action := said(i+1, turn.Action)
		if advantages != nil {
			action = append(action, part{"adv", fmt.Sprintf("%+.4f", advantages[i]), faint})
		}
		if breaks != nil && breaks[i] != "" {
			action = append(action, part{"row", fmt.Sprintf("a new one: %s, after %d tokens of the prompt", breaks[i], turn.Action.Kept), faint})
		}
		if v := turn.Action.Version; i > 0 && v != t.Turns[i-1].Action.Version {
			action = append(action, part{"by", string(v), faint})
		}
		out = append(out, action)
	}
	last := len(out) - 1
	out[last] = append(out[last], heard(t.Closing)...)
	return out
}

func heard(o rl.Observation) (out []part) {
	for _, m := range o.Messages {
		switch {
		case m.Role == rl.ToolRole && m.Content == "":
		case m.Role == rl.ToolRole:
			out = append(out, part{"", m.Content, ""})
		default:
			out = append(out, part{string(m.Role), m.Content, ""})
		}
	}
	return out
}

func said(n int, a rl.Action) (out []part) {
	label := fmt.Sprintf("%4d >", n)
	add := func(text string) {
		out = append(out, part{label, text, heavy})
		label = "     >"
	}
	if a.Message.Content != "" {
		add(a.Message.Content)
	}
	for _, c := range a.Message.ToolCalls {
		add(call(c))
	}
	if len(out) == 0 {
		add("(nothing)")
	}
	return out
}

// call is a tool call as one would write it: find_order(order="48"). Values stand as the model gave them.
func call(c rl.ToolCall) string {
	if c.Invalid != "" {
		return fmt.Sprintf("%s: not a call, %s", c.Name, c.Invalid)
	}
	args, ok := arguments(c.Arguments)
	if !ok {
		return c.Name + "(" + string(c.Arguments) + ")"
	}
	return c.Name + "(" + strings.Join(args, ", ") + ")"
}

// arguments lists the members of a JSON object as key=value, in their order.
func arguments(raw json.RawMessage) (out []string, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		var b bytes.Buffer
		if json.Compact(&b, value) != nil {
			return nil, false
		}
		out = append(out, fmt.Sprintf("%v=%s", key, b.String()))
	}
	return out, true
}

// ending says how the episode stopped and what that earned.
func ending(e Episode) (out []part) {
	t := e.Trajectory
	if t == nil || t.Stop == "" { // it has not ended: there is nothing to score
		return nil
	}
	out = append(out, part{"stop", fmt.Sprintf("%s after %s, %d tokens", strings.ReplaceAll(string(t.Stop), "_", " "),
		counted(len(t.Turns), "turn"), t.ActionTokens()), ""})
	out = append(out, scored("score", t.Outcome))
	if e.Score != nil && differs(*e.Score, t.Outcome) {
		out = append(out, scored("reward", *e.Score))
	}
	if e.Score != nil {
		out = append(out, components(*e.Score)...)
	}
	switch {
	case e.Advantage != nil && e.byTurn() != nil:
		out = append(out, part{"adv", fmt.Sprintf("%+.4f on average over the sampled tokens; each turn's own stands beside it", *e.Advantage), ""})
	case e.Advantage != nil:
		out = append(out, part{"adv", fmt.Sprintf("%+.4f on each sampled token", *e.Advantage), ""})
	case e.LeftOut != "":
		out = append(out, part{"adv", "not trained on: " + strings.ReplaceAll(e.LeftOut, "_", " "), ""})
	}
	return out
}

// Components are the rewards that a score is the weighted sum of, by name.
func Components(s rl.Score) map[string]float64 {
	all := map[string]float64{}
	for name, v := range s.Metrics {
		if reward, ok := strings.CutPrefix(name, "reward_"); ok {
			all[reward] = v
		}
	}
	return all
}

// components is "judge 0.75, format 1", nothing for a reward that is no sum.
func components(s rl.Score) []part {
	all := Components(s)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		words = append(words, fmt.Sprintf("%s %.4g", name, all[name]))
	}
	if words == nil {
		return nil
	}
	return []part{{"of", strings.Join(words, ", "), ""}}
}

func differs(a, b rl.Score) bool {
	return a.Value != b.Value || a.Unscored != b.Unscored || a.Reason != b.Reason
}

func scored(label string, s rl.Score) part {
	if !s.Scored() {
		return part{label, "none: " + s.Unscored, bad}
	}
	p := part{label, fmt.Sprintf("%.4g", s.Value), bad}
	if s.Value >= 1 {
		p.tone = good
	}
	if s.Reason != "" {
		p.text += " (" + s.Reason + ")"
	}
	return p
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
