package gateway

import (
	"regexp"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// Agents send the conversation with every request, and not as they were given it: arguments come back re-spaced or compacted,
// content as null, as an array, trimmed or not at all beside calls, reasoning is dropped, ids are others, and smolagents tells
// calls as text. These say whether a message means what was recorded.

// sameSeen reports whether a message of a request is one that was seen before.
func sameSeen(was, is rl.Message) bool {
	return was.Role == is.Role && text(was.Content) == text(is.Content) && sameCalls(was.ToolCalls, is.ToolCalls)
}

// sameAction reports whether an assistant message of a request is an action of the policy.
func sameAction(was, is rl.Message) bool {
	if is.Role != rl.Assistant {
		return false
	}
	said, now := text(was.Content), text(is.Content)
	if told, calls, ok := toldCalls(now); ok && len(is.ToolCalls) == 0 {
		return (len(was.ToolCalls) == 0 || sameCalls(was.ToolCalls, calls)) && sameTold(said, text(told))
	}
	if !sameCalls(was.ToolCalls, is.ToolCalls) {
		return false
	}
	return reasoned(now) == reasoned(said) || now == unreasoned(said) || now == "" && len(was.ToolCalls) > 0
}

// sameCalls compares calls by their order, names and arguments: ids repeat in the wild, and are made anew.
func sameCalls(was, is []rl.ToolCall) bool {
	if len(was) != len(is) {
		return false
	}
	for i, c := range was {
		if c.Name != is[i].Name {
			return false
		}
		// What could not be read is told in each framework's own words.
		if c.Invalid == "" && string(c.Arguments) != string(is[i].Arguments) && canonical(arguments(c)) != canonical(arguments(is[i])) {
			return false
		}
	}
	return true
}

var reasoning = regexp.MustCompile(`(?s)<think(ing)?>\s*(.*?)\s*</think(ing)?>\s*`)

// reasoned is an answer with its reasoning in one form: pydantic-ai puts it on lines of its own.
func reasoned(said string) string { return reasoning.ReplaceAllString(said, "<think>$2</think>") }

// unreasoned is an answer without its reasoning, which frameworks take out of the text and do not send back.
func unreasoned(said string) string { return text(reasoning.ReplaceAllString(said, "")) }

// sameTold compares what smolagents tells of an answer: it may close a block of code that the policy left open.
func sameTold(said, told string) bool {
	rest, ok := strings.CutPrefix(told, said)
	return ok && (rest == "" || closing[text(rest)]) || told == unreasoned(said)
}

var closing = map[string]bool{"</code>": true, "```": true, "<end_code>": true}
