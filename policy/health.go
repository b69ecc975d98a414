package policy

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// A server is ejected when it failed so often in a row, and asked for a token after a while, which doubles with each
// ejection up to a bound: when it gives one it is readmitted.
const (
	ejectAfter   = 2
	ejectFor     = time.Second
	ejectLongest = time.Minute
	probeTimeout = time.Minute // a cold server's first token takes long
	blameTimeout = 10 * time.Second
)

// health is what a server's answers say of it.
type health struct {
	mu       sync.Mutex
	failures int // in a row
	times    int // that it was ejected since it last answered an episode
	out      bool
	until    time.Time // when it may be probed
	probing  bool
	why      string

	trying  sync.Mutex
	tried   time.Time // when it was last asked whether it replies to anybody; trying is held
	replies bool      // what came of it
}

// saw takes in how a request ended. What the caller's own end cut off says nothing of the server, and a busy one works.
func (s *server) saw(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, endpoint.ErrBusy) {
		return
	}
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.client.fails(err) {
		if h.out {
			s.client.log.Info("the policy server is readmitted", "server", s.shown)
		}
		h.failures, h.times, h.out = 0, 0, false
		return
	}
	if h.failures++; h.failures >= ejectAfter {
		s.eject(err)
	}
}

// eject takes the server out. health.mu is held.
func (s *server) eject(why error) {
	h := &s.health
	if h.out && time.Now().Before(h.until) {
		return // a request that was under way
	}
	if !h.out {
		s.client.log.Warn("the policy server is ejected", "server", s.shown, "why", why)
	}
	h.out, h.why = true, endpoint.Shorten(why.Error())
	h.until = time.Now().Add(min(ejectFor<<min(h.times, 10), ejectLongest))
	h.times++
}

// ejected reports whether the server gets no requests.
func (s *server) ejected() bool {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	return s.health.out
}

// back is when an ejection is over.
func (h *health) back() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// now says whether the server is ejected, and why.
func (h *health) now() (why string, out bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why, h.out
}

// probe asks ejected servers whose time has come for a token, beside the requests of others.
func (c *Client) probe() {
	model := c.model.Load()
	if model == nil {
		return // nobody has asked for anything yet
	}
	for _, s := range c.servers {
		h := &s.health
		h.mu.Lock()
		due := len(c.servers) > 1 && h.out && !h.probing && !time.Now().Before(h.until)
		h.probing = h.probing || due
		h.mu.Unlock()
		if due {
			go s.readmit(*model)
		}
	}
}

// readmit takes the server in again if it answers, as it would answer an episode.
func (s *server) readmit(model string) {
	err := s.token(context.Background(), model, false, probeTimeout)
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	if err != nil {
		s.eject(err)
		return
	}
	s.client.log.Info("the policy server is readmitted", "server", s.shown)
	h.failures, h.out = 0, false
}

// blame finds out whose fault it is that a request got no reply in time: the conversation's, where the server replies to a
// short one, or else the server's, which is an outage that may be waited for.
func (s *server) blame(ctx context.Context, q Request, err error) error {
	if !errors.Is(err, endpoint.ErrNoReply) || s.replies(ctx, q) || ctx.Err() != nil {
		return err
	}
	return rl.Errorf(rl.Unavailable, s.server.At, "it replies to nobody: %s", strings.TrimPrefix(err.Error(), s.server.At+": "))
}

// replies reports whether the server samples a token. Of many who want to know at once, one asks.
func (s *server) replies(ctx context.Context, q Request) bool {
	defer stop(ctx)()
	h := &s.health
	h.trying.Lock()
	defer h.trying.Unlock()
	if time.Since(h.tried) > blameTimeout {
		err := s.token(ctx, q.Model, false, min(q.Timeout, blameTimeout))
		s.saw(ctx, err)
		h.tried, h.replies = time.Now(), rl.KindOf(err) != rl.Unavailable
	}
	return h.replies
}

// token samples one token of a model.
func (s *server) token(ctx context.Context, model string, training bool, timeout time.Duration) error {
	q := Request{Model: model, Messages: []rl.Message{{Role: rl.User, Content: "hello"}}, MaxTokens: 1, Temperature: 1, Timeout: timeout, Training: training}
	_, err := s.ask(ctx, q)
	if errors.Is(err, endpoint.ErrNoModel) && s.client.missing != nil {
		if err := s.add(ctx, model); err != nil {
			return err
		}
		_, err = s.ask(ctx, q)
	}
	return err
}
