package gateway

import (
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

// turn is one answered question, in the tree of an episode's conversations.
type turn struct {
	rl.Turn
	number int     // in the journal
	from   *turn   // the turn that it goes on from; nil: a conversation begins
	quotes []*turn // of the messages that were seen, those whose actions they are; nil: it is none
	next   []*turn // the turns that go on from it, by their questions
	used   bool    // this run of the agent has got to it
}

// conversation is the messages up to and with the turn's action, and the sampled token ids of the actions among them.
func (t *turn) conversation() (messages []rl.Message, actions [][]int32) {
	if t == nil {
		return nil, nil
	}
	messages, actions = t.from.conversation()
	messages, actions = t.seen(messages, actions)
	return append(messages, t.Action.Message), append(actions, t.Action.Tokens)
}

// seen adds what the turn saw to a conversation. What it quotes of actions is as it was sampled.
func (t *turn) seen(messages []rl.Message, actions [][]int32) ([]rl.Message, [][]int32) {
	for i, m := range t.Observation.Messages {
		tokens := []int32(nil)
		if of := t.quotes[i]; of != nil {
			m, tokens = of.Action.Message, of.Action.Tokens
		}
		if messages = append(messages, m); m.Role == rl.Assistant {
			actions = append(actions, tokens)
		}
	}
	return messages, actions
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
	first []*turn // those that begin conversations: with the question that came first, and then by their questions
}

func (h *histories) add(t *turn) {
	t.number = len(h.turns)
	h.turns = append(h.turns, t)
	beside := &h.first
	if t.from != nil {
		beside = &t.from.next
	}
	*beside = append(*beside, t)
	opening := h.turns[0].Request
	slices.SortStableFunc(*beside, func(a, b *turn) int {
		switch {
		case a.Request == b.Request:
			return a.Repeat - b.Repeat
		case a.Request == opening:
			return -1
		case b.Request == opening:
			return 1
		}
		return strings.Compare(a.Request, b.Request)
	})
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
		quoted := t.quotes[i] != nil && sameAction(t.quotes[i].Action.Message, messages[i])
		if !quoted && !sameSeen(was, messages[i]) {
			return 0, false
		}
	}
	return n + 1, true
}

// turn is one that goes on from another. Assistant messages among what it saw may be actions of turns before: an agent that shortens
// a conversation keeps its end. Of several it is the first, which later turns do not change.
func (h *histories) turn(one rl.Turn, from *turn) *turn {
	t := &turn{Turn: one, from: from, quotes: make([]*turn, len(one.Observation.Messages))}
	for i, m := range one.Observation.Messages {
		if n := slices.IndexFunc(h.turns, func(t *turn) bool { return sameAction(t.Action.Message, m) }); n >= 0 {
			t.quotes[i] = h.turns[n]
		}
	}
	return t
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
