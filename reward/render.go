package reward

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/longhaul-rl/longhaul/rl"
)

// The marks that begin the lines of a rendered conversation. A text's further lines are indented, so that no text can look
// as if somebody else had said it.
const (
	systemMark = "$ "
	userMark   = "@ "
	agentMark  = ". "
	callMark   = "> "
	resultMark = "< "
	stopMark   = "! "
	indent     = "  "
)

const legend = `Lines begin with a mark: "$" the agent's instructions, "@" the user, "." what the agent says, ">" a tool call of the agent, "<" the result of a call (of several calls in one turn, in the order of the calls), "!" how the attempt ended. Lines that begin with two spaces continue the line before.`

// renderer writes conversations down for a judge.
type renderer struct {
	results int // bytes of a tool result that are shown; 0: all
	turns   bool
}

// messages renders messages. Turns are numbered from first on, 0 being the first action, when r.turns is set.
func (r renderer) messages(all []rl.Message, first int) string {
	var b strings.Builder
	for _, m := range all {
		switch m.Role {
		case rl.System:
			block(&b, systemMark, m.Content)
		case rl.User:
			block(&b, userMark, m.Content)
		case rl.ToolRole:
			block(&b, resultMark, r.shortened(m.Content))
		default:
			number := ""
			if r.turns {
				number = fmt.Sprintf("(turn %d) ", first)
			}
			first++
			r.action(&b, m, number)
		}
	}
	return b.String()
}

// action renders what the agent said and called, each with the turn's number, so that no text can stand where a number would.
func (r renderer) action(b *strings.Builder, m rl.Message, number string) {
	if m.Content != "" || len(m.ToolCalls) == 0 {
		block(b, agentMark, number+m.Content)
	}
	for _, c := range m.ToolCalls {
		if c.Invalid != "" {
			block(b, callMark, number+c.Name+" (not a valid call: "+c.Invalid+")")
		} else {
			block(b, callMark, number+c.Name+" "+compact(c.Arguments))
		}
	}
}

// ending says how an attempt ended where that is not by itself.
func ending(stop rl.StopReason) string {
	if stop == rl.Answered {
		return ""
	}
	words := map[rl.StopReason]string{
		rl.MaxTurns: "cut off: the limit of turns", rl.ContextLimit: "cut off: the agent's context is full",
		rl.Timeout: "cut off: the time limit", rl.EmptyAction: "the agent said nothing",
	}[stop]
	if words == "" {
		words = string(stop)
	}
	return stopMark + words + "\n"
}

// block writes a text with its mark; further lines are indented.
func block(b *strings.Builder, mark, text string) {
	text = lineBreaks.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	b.WriteString(mark)
	b.WriteString(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+indent))
	b.WriteByte('\n')
}

// lineBreaks makes one of all that anybody takes for the end of a line, as Python's str.splitlines does.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// shortened keeps the first three quarters and the last quarter of what is shown of a long result, and says how much is missing.
func (r renderer) shortened(s string) string {
	if r.results == 0 || len(s) <= r.results {
		return s
	}
	head, tail := r.results*3/4, len(s)-r.results/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s[... %d bytes left out ...]%s", s[:head], tail-head, s[tail:])
}

// compact is JSON without spaces between its parts; what is no JSON is left as it is.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// tools renders what the agent could call, a line each.
func tools(all []rl.Tool) string {
	var b strings.Builder
	for _, t := range all {
		block(&b, "- ", t.Name+" "+compact(t.Parameters)+" "+t.Description)
	}
	return b.String()
}
