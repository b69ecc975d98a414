package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// ask is a question that was asked for the n-th time, and its answer.
type ask struct {
	id        string // of the answer, the same in every run of the agent
	done      chan struct{}
	turn      *turn
	err       error // a *refusal, errGone, or nil
	clients   int   // that wait for it
	asked     int   // Episode.asked when one last came for it
	delivered bool
}

// answer is the recorded or sampled answer to a question. deliver writes it to the client and says whether that got it all.
// Errors: *refusal, errGone.
func (e *Episode) answer(ctx context.Context, q question, deliver func(*ask) error) error {
	a, err := e.ask(q)
	if err != nil {
		return err
	}
	err = e.wait(ctx, a)
	if err == nil && (deliver(a) != nil || ctx.Err() != nil) {
		err = errGone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a.clients--
	if err != errGone { // a refusal is an answer, too
		a.delivered, e.heard = err == nil, e.asked
	}
	return err
}

// wait waits for what there is to tell of an ask.
func (e *Episode) wait(ctx context.Context, a *ask) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
	case <-e.over:
	}
	return errGone
}

// owed reports whether the agent has asked the policy, or asked again, since it was last told anything, and got no answer. mu is
// held.
func (e *Episode) owed() bool {
	for _, a := range e.answers {
		if a.asked > e.heard && !a.delivered && !a.refused() {
			return true
		}
	}
	return false
}

// ask finds the question's place: clients ask again when an answer did not reach them, without saying which request they mean. A
// question that nobody waits for and whose answer nobody got is that one. One that a client says it asks again, and that
// was asked once, is that one, too: it was lost on the way. Any other is asked anew.
func (e *Episode) ask(q question) (*ask, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended() {
		return nil, errGone
	}
	from, known := e.told.find(q.messages)
	hash := q.hash(from, known)
	a := lost(e.asks[hash], q.again)
	if a == nil {
		if a = e.anew(q, hash, from, known); a == nil {
			return nil, errGone
		}
	}
	a.clients++
	e.asked++
	a.asked = e.asked
	return a, nil
}

// lost is the ask whose answer a client asks for again, if it does.
func lost(asks []*ask, again bool) *ask {
	for _, a := range asks {
		if !a.delivered && a.clients == 0 && !a.refused() {
			return a
		}
	}
	if again && len(asks) == 1 && !asks[0].refused() {
		return asks[0]
	}
	return nil
}

// refused reports whether the answer is a refusal: one that asks again asks the policy again.
func (a *ask) refused() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}

// anew asks a question for the first or a further time: what was recorded of an earlier run of the agent is its answer, and
// else the policy's. Nil: there is none, since the agent has had all its turns, and the episode ends. mu is held.
func (e *Episode) anew(q question, hash string, from *turn, known int) *ask {
	nth := len(e.asks[hash])
	a := &ask{id: answerID(hash, nth), done: make(chan struct{})}
	a.turn = e.told.recorded(hash, nth)
	switch {
	case a.turn == nil && e.Exact:
		e.end(rl.EndOfRecord, nil)
		return nil
	case e.taken >= e.MaxTurns:
		e.end(rl.MaxTurns, nil)
		return nil
	}
	e.asks[hash] = append(e.asks[hash], a)
	e.answers[a.id] = a
	e.taken++
	if a.turn != nil {
		a.turn.used = true
		close(a.done)
		return a
	}
	p := e.prompt(q, from, known)
	p.turn.Request, p.turn.Repeat, p.id, p.request.Seed = hash, nth, a.id, rl.Seed(e.Seed, "turn", hash, nth)
	e.taking.Go(func() { e.take(a, p) })
	return a
}

// take takes a turn: the policy's action, committed. Where there is none, the episode ends, except that the agent is told when
// its conversation has become too long: it may shorten it.
func (e *Episode) take(a *ask, p prompt) {
	t, err := e.act(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer close(a.done)
	a.turn, e.full = t, errors.Is(err, endpoint.ErrContextLimit)
	switch {
	case e.full:
		a.err = &refusal{http.StatusBadRequest, "context_length_exceeded", "the conversation and what may be answered do not fit the context of the model"}
		e.taken--
	case err != nil:
		a.err = errGone
		e.end("", err)
	}
}
