package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/longhaul-rl/longhaul/policy"
	"github.com/longhaul-rl/longhaul/rl"
	"github.com/longhaul-rl/longhaul/rollout"
)

// answerID names an answer, the same in every run of the agent, so that what it keeps of one run it finds in the next.
func answerID(hash string, nth int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", hash, nth))
	return hex.EncodeToString(sum[:12])
}

// prompt is what the policy is asked for a turn.
type prompt struct {
	request policy.Request
	turn    *turn  // the turn as it will be, but for its action
	id      string // of the answer
}

// prompt is the conversation as it was recorded, followed by what is new. mu is held.
func (e *Episode) prompt(q question, from *turn, known int) prompt {
	p := prompt{turn: e.told.turn(rl.Turn{Observation: rl.Observation{Messages: q.messages[known:]}}, from)}
	messages, actions := p.turn.seen(from.conversation())
	p.request = policy.Request{
		Model: e.Model, Messages: messages, Actions: actions, Tools: q.tools, Stop: q.stop,
		Temperature: e.Temperature, MaxTokens: e.limit(q), Timeout: e.TurnTimeout, Training: e.Training,
	}
	return p
}

// act asks the policy and commits what it did.
func (e *Episode) act(p prompt) (*turn, error) {
	r, err := e.sample(p.request)
	if err != nil {
		return nil, err
	}
	sequence := p.turn.from.sequence()
	kept := 0
	for kept < min(len(sequence), len(r.Prompt)) && sequence[kept] == r.Prompt[kept] {
		kept++
	}
	p.turn.Action = rl.Action{
		Message: r.Message, Version: e.Served(r.Model), Seed: p.request.Seed, Finish: r.Finish,
		Kept: kept, Prompt: slices.Clip(r.Prompt[kept:]), Tokens: r.Tokens, LogProbs: r.LogProbs,
	}
	finish(&p.turn.Action, p.id)
	return e.commit(p.turn)
}

// limit is how long the answer may be, in tokens.
func (e *Episode) limit(q question) int {
	if q.most > 0 && (e.MaxTokens == 0 || q.most < e.MaxTokens) {
		return q.most
	}
	return e.MaxTokens
}

// sample asks the policy, in the episode's own place where no other request of it has that.
func (e *Episode) sample(q policy.Request) (policy.Response, error) {
	select {
	case seat := <-e.seat:
		defer func() { e.seat <- seat }()
		return seat.Act(e.live, q)
	default:
		return e.client.Act(e.live, q)
	}
}

// finish makes an action what the agent is given: its calls have ids that are unique in the episode, which servers' are not.
func finish(a *rl.Action, id string) {
	for i := range a.Message.ToolCalls {
		a.Message.ToolCalls[i].ID = fmt.Sprintf("call_%s_%d", id, i)
	}
	if len(a.Message.ToolCalls) > 0 && a.Finish != "length" {
		a.Finish = "tool_calls"
	}
}

// commit records a turn before anybody is told of it.
func (e *Episode) commit(t *turn) (*turn, error) {
	e.record.Lock()
	defer e.record.Unlock()
	e.mu.Lock()
	n := len(e.told.turns)
	from := -1
	if t.from != nil {
		from = t.from.number
	}
	e.mu.Unlock()
	if from != n-1 {
		t.From = &from
	}
	if e.Record != nil {
		if err := e.Record(e.lasts, rl.Recorded{Turn: t.Turn}); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.used = true
	e.told.add(t)
	return t, nil
}

// restore takes in the turns of earlier runs of the agent. Errors: Corrupt with rollout.ErrDiverged, when they contradict each other.
func (h *histories) restore(episode rl.EpisodeID, recorded []rl.Recorded) error {
	turns := make([]rl.Turn, len(recorded))
	for i, r := range recorded {
		turns[i] = r.Turn
	}
	for i, one := range turns {
		from := rl.Parent(turns, i)
		if from < -1 || from >= i {
			return rl.Errorf(rl.Corrupt, "journal of "+episode.String(), "turn %d goes on from turn %d: %w", i, from, rollout.ErrDiverged)
		}
		var parent *turn
		if from >= 0 {
			parent = h.turns[from]
		}
		if length := parent.length(); one.Action.Kept < 0 || one.Action.Kept > length {
			return rl.Errorf(rl.Corrupt, "journal of "+episode.String(), "turn %d keeps %d of %d tokens: %w", i, one.Action.Kept, length, rollout.ErrDiverged)
		}
		h.add(h.turn(one, parent))
	}
	return nil
}

// recorded is the answer that an earlier run of the agent got when it asked a question for the n-th time, from 0.
func (h *histories) recorded(hash string, nth int) *turn {
	for _, t := range h.turns {
		if t.Request == hash && t.Repeat == nth && !t.used {
			return t
		}
	}
	return nil
}
