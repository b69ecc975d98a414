package rl

import "slices"

// Break is why a turn's prompt does not begin with the tokens so far, so that a new training row begins with it (see
// Trajectory.Samples). The names are those of what chat templates and servers do to the history of a conversation.
type Break string

const (
	// ReasoningStripped: what the policy thought before it answered or called is gone from a past turn; what it said then stays.
	// Templates of Qwen3, QwQ and DeepSeek-R1 do that, and servers that parse reasoning out of the message.
	ReasoningStripped Break = "reasoning_stripped"
	// CallsRewritten: a past tool call is written otherwise than it was sampled. The server parsed it, and the template writes
	// it anew with its own spacing (Hermes, Qwen), keys (Llama 3's "parameters") or ids (Mistral).
	CallsRewritten Break = "tool_calls_rewritten"
	// TextRewritten: words of a past turn are written or encoded otherwise. Templates trim them, text that was sampled as
	// rare tokens is encoded as common ones, and an agent's stop words are sampled, and in no message.
	TextRewritten Break = "text_rewritten"
	// EndReplaced: a past turn ends with another token than was sampled, such as Llama 3's <|eot_id|> for <|eom_id|>.
	EndReplaced Break = "end_replaced"
	// HistoryRewritten: the prompt changed ahead of what the policy sampled. A date in the system message, a history that was
	// shortened.
	HistoryRewritten Break = "history_rewritten"
	// Branched: the turn goes on from another one than the turn before it, or begins a conversation of its own, as the sub-agents
	// of an agent do. Nothing is wrong with it.
	Branched Break = "branched"
)

// remedies say what can be done about each way in which a prompt leaves the tokens so far.
var remedies = map[Break]string{
	ReasoningStripped: "the chat template, or the server's reasoning parser, drops what the policy thought in earlier turns, as Qwen3's and DeepSeek-R1's templates do: serve a template that keeps it (vLLM: --chat-template) without a reasoning parser, or a model that does not think",
	CallsRewritten:    "the chat template writes past tool calls otherwise than the policy does (Hermes, Qwen, Llama 3, Mistral: spaces, order of keys, ids): serve a template that writes them as they are sampled (vLLM: --chat-template)",
	TextRewritten:     "the chat template trims or changes what the policy said, or it is encoded as other tokens: serve a template that leaves messages alone (vLLM: --chat-template); or an agent's stop words end turns, which its messages are without",
	EndReplaced:       "the chat template ends past turns with another token than the policy does, as Llama 3.1's <|eom_id|> becomes <|eot_id|>: serve a template that keeps it (vLLM: --chat-template); or a stop word of an agent's ends turns, which its messages are without",
	HistoryRewritten:  "something ahead of what the policy said changes in mid-episode: a date in the template's system message, or an environment or agent that shortens its history",
}

// Remedy says what can be done about it, in a sentence that names what does it.
func (b Break) Remedy() string { return remedies[b] }

// The forms of reasoning that is stripped: of its beginning so much may be left, or stand in the prompt ahead of the action
// ("<think>\n"), so much may be put in its place (an empty pair of tags), and less than that is no reasoning. In tokens.
const (
	reasoningEdge  = 4
	reasoningLeast = 3
)

// said is what of an action stands in a sequence.
type said struct {
	turn     int
	from, to int // in the sequence
}

// told is what a turn ended with, and the actions in it.
type told struct {
	sequence []int32
	actions  []said
}

// Breaks says of each turn why a new row begins with it; "" where its prompt goes on with the tokens so far, and at the first.
// It goes by the token ids, and by whether an action called tools: nothing is decoded. Of a record that contradicts itself
// it is nil.
func (t Trajectory) Breaks() []Break {
	breaks := make([]Break, len(t.Turns))
	forks := t.forks()
	ends := map[int]told{}
	var so told // far, in the conversation of the turn
	for i, turn := range t.Turns {
		a, from := turn.Action, Parent(t.Turns, i)
		if from < -1 || from >= i {
			return nil
		}
		if from < i-1 {
			so, breaks[i] = ends[from], Branched
		}
		if a.Kept < 0 || a.Kept > len(so.sequence) {
			return nil
		}
		if a.Kept < len(so.sequence) {
			at := slices.IndexFunc(so.actions, func(s said) bool { return s.to > a.Kept })
			breaks[i] = t.broken(so.sequence, so.actions[at], a)
			so.actions = so.actions[:at] // what is kept of this one is no longer whole
		}
		so.sequence = Sequence(so.sequence, a)
		so.actions = append(slices.Clip(so.actions), said{i, len(so.sequence) - len(a.Tokens), len(so.sequence)})
		if _, fork := forks[i]; fork {
			ends[i] = so
		}
	}
	return breaks
}

// broken says why a next action's prompt leaves a sequence in or ahead of an action that stands in it.
func (t Trajectory) broken(sequence []int32, in said, next Action) Break {
	rest := sequence[next.Kept:in.to]
	switch kept := next.Kept - in.from; {
	case -reasoningEdge <= kept && kept <= reasoningEdge && lost(rest, next.Prompt):
		return ReasoningStripped
	case kept < 0:
		return HistoryRewritten
	case len(rest) == 1:
		return EndReplaced
	case len(t.Turns[in.turn].Action.Message.ToolCalls) > 0:
		return CallsRewritten
	}
	return TextRewritten
}

// lost reports whether a prompt goes on with the end of what an action said, without what came before that: with nothing put
// in its place, or with a few tokens where much of the end stands.
func lost(rest, prompt []int32) bool {
	for put := 0; put <= min(reasoningEdge, len(prompt)); put++ {
		left := 1 // the token that ends a message
		if put > 0 {
			left = reasoningEdge
		}
		for gone := put + reasoningLeast; gone <= len(rest)-left; gone++ {
			if len(prompt)-put >= len(rest)-gone && slices.Equal(prompt[put:put+len(rest)-gone], rest[gone:]) {
				return true
			}
		}
	}
	return false
}
