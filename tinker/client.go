package tinker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// ErrLost says that nobody knows any more what a model's weights and gradients are: an answer did not come, or the engine
// no longer has the model.
var ErrLost = errors.New("what became of the model is not known")

const (
	maxReply = 256 << 20 // log-probabilities and losses as JSON, some 20 bytes a number
	starting = 2 * time.Minute
	waiting  = 6 * time.Minute // the service lets go of a future's request after 5
	pause    = time.Second     // before a request that was not served is sent again
)

// Client speaks to one service. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	url       string // without /api/v1
	key       string
	at        string
}

// Options say where the service is.
type Options struct {
	URL       string            // base URL, without /api/v1
	APIKey    string            // sent as X-API-Key; empty: none
	Transport http.RoundTripper // nil: the network
}

// New makes a client. It connects to nothing.
func New(o Options) *Client {
	c := &Client{transport: o.Transport, url: strings.TrimRight(o.URL, "/"), key: o.APIKey, at: endpoint.At("tinker", o.URL)}
	if c.transport == nil {
		c.transport = endpoint.Network(64)
	}
	return c
}

// refusal is an answer with another status than 200, in the service's own words.
type refusal struct {
	status int
	words  string
	after  time.Duration
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.status, http.StatusText(r.status), r.words)
}

// post sends one request and reads its answer. Errors are a *refusal, or what the transport or the reply had.
func (c *Client) post(ctx context.Context, limit time.Duration, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		q.Header.Set("X-API-Key", c.key)
	}
	res, err := c.transport.RoundTrip(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case err != nil:
		return fmt.Errorf("half a reply: %w", err)
	case res.StatusCode != http.StatusOK:
		return c.refusal(res, b)
	case len(b) > maxReply:
		return fmt.Errorf("the reply is larger than %d bytes", maxReply)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("the reply is not what the API promises: %w", err)
	}
	return nil
}

// refusal reads {"detail": ...}, which is a text, or what a validator has to say. A key is never repeated.
func (c *Client) refusal(res *http.Response, body []byte) *refusal {
	var e struct {
		Detail json.RawMessage `json:"detail"`
	}
	words := string(body)
	if json.Unmarshal(body, &e) == nil && len(e.Detail) > 0 {
		words = string(e.Detail)
		var text string
		if json.Unmarshal(e.Detail, &text) == nil {
			words = text
		}
	}
	if c.key != "" {
		words = strings.ReplaceAll(words, c.key, "[key]")
	}
	r := &refusal{status: res.StatusCode, words: endpoint.Shorten(strings.TrimSpace(strings.ToValidUTF8(words, "\uFFFD")))}
	if s, err := time.ParseDuration(res.Header.Get("Retry-After") + "s"); err == nil {
		r.after = min(max(s, 0), time.Hour)
	}
	return r
}

// start sends a request whose effect cannot be taken back, once. When it was certainly not served for want of room (429) it is
// sent again. Errors are ErrLost where it may have been served, and as refused's.
func (c *Client) start(ctx context.Context, path string, in, out any) error {
	for {
		err := c.post(ctx, starting, path, in, out)
		r, answered := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			return nil
		case answered && r.status == http.StatusTooManyRequests:
			if err := sleep(ctx, max(r.after, pause)); err != nil {
				return err
			}
		case answered:
			return c.refused(path, r)
		default:
			return c.lost(path, err)
		}
	}
}

// refused says what may be done about an answer: ErrLost when the call may have been served, or when the engine does not have
// the model (it was started again, or heard nothing of the session for too long).
func (c *Client) refused(what string, r *refusal) error {
	switch {
	case r.status >= 500, r.status == http.StatusRequestTimeout,
		strings.Contains(r.words, "not loaded"), r.words == "Model not found", r.words == "Session not found", r.words == "Future not found":
		return c.lost(what, r)
	case r.status == http.StatusNotFound:
		return rl.Errorf(rl.NotFound, c.at, "%s: %w", what, r)
	case r.status == http.StatusConflict:
		return rl.Errorf(rl.Conflict, c.at, "%s: %w", what, r)
	case r.status == http.StatusTooEarly, strings.Contains(r.words, "Maximum number of LoRA adapters"):
		return rl.Errorf(rl.Unavailable, c.at, "%s: %w", what, r)
	}
	return rl.Errorf(rl.Refused, c.at, "%s: %w", what, r)
}

func (c *Client) lost(what string, err error) error {
	return rl.Errorf(rl.Unavailable, c.at, "%s: %w: %w", what, ErrLost, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
