package policy

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"github.com/longhaul-rl/longhaul/endpoint"
)

// Options say where the server is and how it is to be used.
type Options struct {
	URL    string // base URL with /v1
	APIKey string // sent as a bearer token; empty: none
	// Transport carries the requests; nil: the network. A handler in this process is inprocess.Transport.
	Transport http.RoundTripper
	// Splice sends the token ids of own past actions with the history, for a server that takes them in place of
	// the messages' text (the embedded one does): the history is then never re-tokenised.
	Splice      bool
	Concurrency int // live episodes at once, see Acquire; 0: no bound
}

// Client speaks to one policy server. It is safe for concurrent use.
type Client struct {
	api    *openai.Client
	server endpoint.Server
	splice bool
	slots  chan struct{} // one element a live episode; nil: no bound
	tools  atomic.Pointer[renderedTools]
	plain  atomic.Bool // the server refuses requests that ask for token ids
}

// New makes a client. It connects to nothing; Ready does.
func New(o Options) *Client {
	c := &Client{server: endpoint.Server{Transport: o.Transport, At: endpoint.At("policy", o.URL), Secret: o.APIKey}, splice: o.Splice}
	if c.server.Transport == nil {
		c.server.Transport = endpoint.Network(max(o.Concurrency, 256))
	}
	cfg := openai.DefaultConfig(o.APIKey)
	cfg.BaseURL = o.URL
	cfg.HTTPClient = doer{c.server}
	c.api = openai.NewClientWithConfig(cfg)
	if o.Concurrency > 0 {
		c.slots = make(chan struct{}, o.Concurrency)
	}
	return c
}

// Acquire takes the place of one live episode and waits while Concurrency of them are taken. A server holds a KV
// cache for each live conversation, so more of them at once are slower, not faster. The returned release may be
// called more than once. The error is the context's.
func (c *Client) Acquire(ctx context.Context) (release func(), err error) {
	if c.slots == nil {
		return func() {}, ctx.Err()
	}
	select {
	case c.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-c.slots }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
