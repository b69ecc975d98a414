package policy

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Options say where the servers are and how they are to be used.
type Options struct {
	URL    string // base URL with /v1; several servers of the same model: comma separated
	APIKey string // sent as a bearer token; empty: none
	// Transport carries the requests; nil: the network. A handler in this process is inprocess.Transport.
	Transport http.RoundTripper
	// Splice sends the token ids of own past actions with the history, for a server that takes them in place of
	// the messages' text (the embedded one does): the history is then never re-tokenised.
	Splice      bool
	Concurrency int // live episodes at once, see Acquire; 0: no bound
	// Missing makes a model known to the server at a base URL that does not know it, though it should: one that was
	// restarted, or was away while the model was published. Nil: what is unknown stays so. Its errors are the Act's.
	Missing func(ctx context.Context, url, model string) error
	Log     *slog.Logger // hears of servers that are ejected and readmitted; nil: nobody does
}

// Client speaks to the servers of one policy. It is safe for concurrent use.
type Client struct {
	servers  []*server
	splice   bool
	embedded bool
	missing  func(ctx context.Context, url, model string) error
	log      *slog.Logger
	slots    chan struct{} // one element a live episode; nil: no bound
	tools    atomic.Pointer[renderedTools]
	model    atomic.Pointer[string] // that was asked for last: what a server must serve to be well
	mu       sync.Mutex             // of the servers' seats
}

// New makes a client. It connects to nothing; Ready does.
func New(o Options) *Client {
	c := &Client{splice: o.Splice, embedded: o.Transport != nil, missing: o.Missing, log: o.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = endpoint.Network(max(o.Concurrency, 256))
	}
	for _, url := range URLs(o.URL) {
		c.servers = append(c.servers, newServer(c, url, o))
	}
	if o.Concurrency > 0 {
		c.slots = make(chan struct{}, o.Concurrency)
	}
	return c
}

// Embedded reports whether the policy answers in this process, and is no server that can be away.
func (c *Client) Embedded() bool { return c.embedded }

// URLs are the servers of a comma separated list, which has at least one, empty or not.
func URLs(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSuffix(strings.TrimSpace(all[i]), "/")
	}
	return slices.Compact(all)
}

// Acquire takes the place of one live episode and waits while Concurrency of them are taken. A server holds a KV
// cache for each live conversation, so more of them at once are slower, not faster. The error is the context's.
func (c *Client) Acquire(ctx context.Context) (*Seat, error) {
	if c.slots == nil {
		return &Seat{client: c}, ctx.Err()
	}
	select {
	case c.slots <- struct{}{}:
		return &Seat{client: c, held: true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Act samples one action outside of any episode; see Seat.Act.
func (c *Client) Act(ctx context.Context, q Request) (Response, error) {
	s := Seat{client: c}
	defer s.Release()
	return s.Act(ctx, q)
}

// Once a server has done what all were asked for, the others have this long to do it, too.
const stragglers = 15 * time.Second

// tell asks every server for the same, side by side, except those that are ejected while others are not. What is asked of
// servers that are away is not missed: they are told once they are back (Missing). So the error is that of a server that
// answered, or, when none did, of one that did not.
func (c *Client) tell(ctx context.Context, ask func(context.Context, *server) error) error {
	asked := slices.DeleteFunc(slices.Clone(c.servers), (*server).ejected)
	if len(asked) == 0 {
		asked = c.servers
	}
	work, late := context.WithCancel(ctx)
	defer late()
	errs := make([]error, len(asked))
	var all sync.WaitGroup
	for i, s := range asked {
		all.Go(func() {
			if errs[i] = ask(work, s); errs[i] == nil {
				time.AfterFunc(stragglers, late)
			}
			s.saw(ctx, errs[i])
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil && rl.KindOf(err) != rl.Unavailable {
			return err
		}
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}

// each asks every server for the same, side by side. The error is the first server's that has one.
func (c *Client) each(ctx context.Context, ask func(context.Context, *server) error) error {
	errs := make([]error, len(c.servers))
	var all sync.WaitGroup
	for i, s := range c.servers {
		all.Go(func() { errs[i] = ask(ctx, s) })
	}
	all.Wait()
	return cmp.Or(errs...)
}
