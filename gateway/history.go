package gateway

import (
	"github.com/longhaul-rl/longhaul/rl"
)

// turn is one answered question, in the tree of an episode's conversations.
type turn struct {
	rl.Turn
	number int     // in the journal
	from   *turn   // the turn that it goes on from; nil: a conversation begins
	next   []*turn // the turns that go on from it, in the journal's order
	used   bool    // this run of the agent has got to it
}

// conversation is the messages up to and with the turn's action, and the sampled token ids of the actions among them.
func (t *turn) conversation() (messages []rl.Message, actions [][]int32) {
	if t == nil {
		return nil, nil
	}
	messages, actions = t.from.conversation()
	for _, m := range t.Observation.Messages {
		if messages = append(messages, m); m.Role == rl.Assistant {
			actions = append(actions, nil)
		}
	}
	return append(messages, t.Action.Message), append(actions, t.Action.Tokens)
}

// sequence is the token ids that the turn ended with.
func (t *turn) sequence() []int32 {
	if t == nil {
		return nil
	}
	return append(append(t.from.sequence()[:t.Action.Kept], t.Action.Prompt...), t.Action.Tokens...)
}

// length is the sequence's.
func (t *turn) length() int {
	if t == nil {
		return 0
	}
	return t.Action.Kept + len(t.Action.Prompt) + len(t.Action.Tokens)
}

// histories is all of an episode's turns.
type histories struct {
	turns []*turn // in the journal's order
	first []*turn // those that begin conversations
}

func (h *histories) add(t *turn) {
	t.number = len(h.turns)
	h.turns = append(h.turns, t)
	if t.from == nil {
		h.first = append(h.first, t)
	} else {
		t.from.next = append(t.from.next, t)
	}
}

// find is the last turn whose conversation a list of messages goes on from, and how many of them that is. Of several it is
// one with the longest conversation.
func (h *histories) find(messages []rl.Message) (best *turn, known int) {
	type place struct {
		turns []*turn
		at    int
	}
	for stack := []place{{h.first, 0}}; len(stack) > 0; {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, t := range p.turns {
			if n, ok := t.follows(messages[p.at:]); ok {
				if p.at+n > known {
					best, known = t, p.at+n
				}
				stack = append(stack, place{t.next, p.at + n})
			}
		}
	}
	return best, known
}

// follows reports whether messages begin with what the turn saw and did, and how many of them that is.
func (t *turn) follows(messages []rl.Message) (n int, ok bool) {
	n = len(t.Observation.Messages)
	if len(messages) <= n || !sameAction(t.Action.Message, messages[n]) {
		return 0, false
	}
	for i, was := range t.Observation.Messages {
		if !sameSeen(was, messages[i]) {
			return 0, false
		}
	}
	return n + 1, true
}

// quoted is the turn whose action an assistant message of a changed history is, if any: an agent that shortens a
// conversation keeps its end.
func (h *histories) quoted(m rl.Message) *turn {
	for i := len(h.turns) - 1; i >= 0; i-- {
		if sameAction(h.turns[i].Action.Message, m) {
			return h.turns[i]
		}
	}
	return nil
}

// trajectory is the turns that this run of the agent has got to, conversation by conversation.
func (h *histories) trajectory() (turns []rl.Turn) {
	for _, t := range h.turns {
		for up := t; t.used && up != nil; up = up.from {
			up.used = true
		}
	}
	at := map[*turn]int{}
	var walk func([]*turn)
	walk = func(from []*turn) {
		for _, t := range from {
			if !t.used {
				continue
			}
			one := t.Turn
			one.From = goesOn(at, t.from, len(turns))
			at[t] = len(turns)
			turns = append(turns, one)
			walk(t.next)
		}
	}
	walk(h.first)
	return turns
}

// goesOn is rl.Turn's From of turn n, which goes on from another one.
func goesOn(at map[*turn]int, from *turn, n int) *int {
	i := -1
	if from != nil {
		i = at[from]
	}
	if i == n-1 {
		return nil
	}
	return &i
}
