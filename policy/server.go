package policy

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// server is one of a policy's servers.
type server struct {
	client *Client
	api    *openai.Client
	server endpoint.Server
	url    string // with /v1
	shown  string // the same, without what it may hide
	seats  int    // live episodes that keep to it; the client's mutex is held
	health health
	limit  limit
	pulse  pulse
	plain  atomic.Bool   // it refuses requests that ask for token ids
	gives  atomic.Bool   // it has given all that training needs
	adding chan struct{} // held by whoever makes a missing model known
}

func newServer(c *Client, url string, o Options) *server {
	s := &server{client: c, url: url, adding: make(chan struct{}, 1)}
	s.server = endpoint.Server{Transport: o.Transport, At: endpoint.At("policy", url), Secret: o.APIKey}
	s.shown = strings.TrimPrefix(s.server.At, "policy ")
	s.limit.most, s.limit.now = o.Concurrency, float64(o.Concurrency)
	s.pulse.server = s
	cfg := openai.DefaultConfig(o.APIKey)
	cfg.BaseURL = url
	cfg.HTTPClient = doer{s.server}
	s.api = openai.NewClientWithConfig(cfg)
	return s
}

// A server that says that it is busy (429) is asked again after the time that it names, or after longer and longer waits. What
// is still refused after so much waiting is for whoever plans the work.
const (
	busyWait     = 250 * time.Millisecond // before the second try; twice that before the third
	busyPatience = 30 * time.Second
)

// act asks this server, within its limit. A model that it lacks is made known to it first, where that is possible.
func (s *server) act(ctx context.Context, q Request) (r Response, err error) {
	s.client.model.Store(&q.Model)
	added, waited := false, time.Duration(0)
	for try := 0; ; try++ {
		if err := s.enter(ctx); err != nil {
			return r, err
		}
		began := time.Now()
		r, err = s.ask(ctx, q)
		s.limit.leave(began, err)
		lacks := errors.Is(err, endpoint.ErrNoModel) && s.client.missing != nil && !added
		if !lacks {
			s.saw(ctx, err)
		}
		switch {
		case errors.Is(err, endpoint.ErrBusy):
			wait := busyFor(err, try)
			if waited += wait; waited > busyPatience {
				return r, err
			}
			s.limit.hold(wait)
		case lacks:
			if err := s.add(ctx, q.Model); err != nil {
				return r, err
			}
			added = true
		default:
			return r, err
		}
	}
}

// enter waits for a place among the requests in flight, which is no time of the turn's.
func (s *server) enter(ctx context.Context) error {
	defer stop(ctx)()
	if err := s.limit.enter(ctx); err != nil {
		return s.server.Failure(endpoint.Unserved(err))
	}
	return nil
}

// busyFor is how long a server that refused the try-th time is left alone.
func busyFor(err error, try int) time.Duration {
	if e, ok := errors.AsType[*rl.Error](err); ok && e.RetryAfter > 0 {
		return e.RetryAfter
	}
	return busyWait << min(try, 10)
}

// add makes a model known to the server. Of many who miss it one does so.
func (s *server) add(ctx context.Context, model string) error {
	defer stop(ctx)()
	select {
	case s.adding <- struct{}{}:
		defer func() { <-s.adding }()
	case <-ctx.Done():
		return s.server.Failure(endpoint.Unserved(ctx.Err()))
	}
	if models, err := s.models(ctx); err != nil || models[model] != nil {
		return err
	}
	s.client.log.Warn("the policy server does not know a model that it should: it is told of it", "server", s.shown, "model", model)
	return s.client.missing(ctx, s.url, model)
}

// ask makes one request. The time in which the server is paused is not counted.
func (s *server) ask(ctx context.Context, q Request) (Response, error) {
	x, err := s.exchange(q)
	if err != nil {
		return Response{}, err
	}
	turn, cancel := Within(ctx, q.Timeout)
	defer cancel()
	defer s.pulse.begin(turn, q.Timeout)()
	r, err := s.api.CreateChatCompletion(x.context(turn), render(q))
	if err != nil && !s.plain.Load() && rl.KindOf(err) == rl.Refused && strings.Contains(err.Error(), "return_token_ids") {
		// A server strict about what it does not know can still be evaluated.
		s.plain.Store(true)
		return s.ask(ctx, q)
	}
	if err != nil {
		return Response{}, s.server.Failure(err)
	}
	if x.quick != nil {
		r = *x.quick
	}
	return s.reply(q, r, &x.reply)
}
