package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Seat is the place of one live episode. It keeps to one server, whose prefix cache has the episode's history, until that
// server is sick: the next answer then comes from another, which is sent the whole conversation as any is. A Seat is one
// goroutine's.
type Seat struct {
	client *Client
	at     *server // nil: none yet
	held   bool    // a place of Concurrency's
}

// Release gives the place back. It may be called more than once.
func (s *Seat) Release() {
	s.sit(nil)
	if s.held {
		s.held = false
		<-s.client.slots
	}
}

// Act samples one action. A server that does not answer, or not as it should, or that refuses what is not this conversation's fault
// (a key, a model, a page of a proxy), is left for another one, until each healthy one was asked once. Request.Timeout begins anew with each; ctx's own deadline is of them all.
//
// Errors are *rl.Error: Refused (the server will not do it; its words are kept; endpoint.ErrContextLimit is among these,
// and ErrUntrainable), Unavailable (connection, deadline, which is endpoint.ErrNoReply where others are replied to, 408, 409, 425, 429, 5xx, half a reply, a reply that is not one or
// contradicts itself; with RetryAfter when the server named one), Invalid (a request that cannot be sent).
func (s *Seat) Act(ctx context.Context, q Request) (Response, error) {
	s.client.probe()
	var asked []*server
	var away error // of a server that may be back: what is worth another try, whatever others refuse
	for {
		if s.at == nil || s.at.ejected() || slices.Contains(asked, s.at) {
			s.sit(s.client.least(asked))
		}
		asked = append(asked, s.at)
		r, err := s.at.act(ctx, q)
		if err == nil || ctx.Err() != nil || !s.client.fails(err) {
			return r, err
		}
		if s.client.least(asked) == nil {
			if rl.KindOf(err) == rl.Refused && away != nil {
				return r, away
			}
			return r, s.at.blame(ctx, q, err)
		}
		if rl.KindOf(err) == rl.Unavailable {
			away = err
		}
	}
}

// fails reports whether an answer says that another server should be asked. One that is busy works. Of several, one that refuses
// everybody is as good as away; a policy's only one has said what has to be changed.
func (c *Client) fails(err error) bool {
	switch rl.KindOf(err) {
	case rl.Unavailable:
		return !errors.Is(err, endpoint.ErrBusy)
	case rl.Refused:
		return len(c.servers) > 1 && !errors.Is(err, endpoint.ErrContextLimit) && !errors.Is(err, endpoint.ErrConversation)
	}
	return false
}

// sit moves the seat to a server; nil: to none.
func (s *Seat) sit(at *server) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if s.at != nil {
		s.at.seats--
	}
	if s.at = at; at != nil {
		at.seats++
	}
}

// least is the healthy server with the fewest live episodes that was not asked. Where none is healthy, and none was
// asked, it is the one whose ejection is over first: asking it is the only way on. Nil: there is none.
func (c *Client) least(asked []*server) (best *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		if !slices.Contains(asked, s) && !s.ejected() && (best == nil || s.seats < best.seats) {
			best = s
		}
	}
	if best != nil || len(asked) > 0 {
		return best
	}
	return slices.MinFunc(c.servers, func(a, b *server) int { return a.health.back().Compare(b.health.back()) })
}

// ServerStatus is how a server fares, as this process sees it.
type ServerStatus struct {
	URL      string `json:"url"`
	State    string `json:"state"` // healthy, paused or ejected
	Why      string `json:"why,omitempty"`
	Episodes int    `json:"episodes"`  // that keep to it
	InFlight int    `json:"in_flight"` // requests at the server
	Waiting  int    `json:"waiting"`   // requests that wait here for one of Limit to end
	Limit    int    `json:"limit"`     // requests in flight at most; 0: no bound
}

// Status says how the servers fare.
func (c *Client) Status() (all []ServerStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		one := ServerStatus{URL: s.shown, State: "healthy", Episodes: s.seats}
		one.InFlight, one.Waiting, one.Limit = s.limit.load()
		if why, out := s.health.now(); out {
			one.State, one.Why = "ejected", why
		} else if s.pulse.paused() {
			one.State = "paused"
		}
		all = append(all, one)
	}
	return all
}
