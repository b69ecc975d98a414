package propose

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/longhaul-rl/longhaul/reward"
	"github.com/longhaul-rl/longhaul/rl"
)

// Model is a model at an endpoint of the OpenAI API.
type Model struct {
	URL   string // base URL, with /v1
	Model string
	Key   string
}

func (m Model) client(what string, o Options) *reward.Client {
	return reward.NewClientOf(what, rl.RewardConfig{URL: m.URL, Concurrency: o.Concurrency, Timeout: rl.Duration(o.Timeout)}, m.Key, nil)
}

// identity is the SHA-256 of a question's canonical JSON.
func identity(q reward.Question) string {
	sum := sha256.Sum256(rl.CanonicalJSON(q))
	return hex.EncodeToString(sum[:])
}

// A server that is away, or busy, is asked again so often, with pauses that double.
const (
	patience = 6
	pause    = time.Second
)

// ask is the answer to a question: the recorded one, or a new one, which is recorded before it counts.
func (p *proposer) ask(ctx context.Context, client *reward.Client, q reward.Question) (reward.Reply, error) {
	key := identity(q)
	if r, ok := p.journal.reply(key); ok {
		return r, nil
	}
	release, err := client.Acquire(ctx)
	if err != nil {
		return reward.Reply{}, err
	}
	defer release()
	if err := p.spend(); err != nil {
		return reward.Reply{}, err
	}
	defer p.made()
	for try := 1; ; try++ {
		r, err := client.Ask(ctx, key, q)
		if err == nil {
			return r, p.journal.add(entry{Question: key, Reply: &r})
		}
		if rl.KindOf(err) != rl.Unavailable || try == patience || ctx.Err() != nil {
			return r, err
		}
		if err := rest(ctx, try, err); err != nil {
			return r, err
		}
	}
}

// rest waits after the try-th failure in a row. The error is the context's.
func rest(ctx context.Context, try int, failure error) error {
	select {
	case <-time.After(max(wished(failure), pause<<(try-1))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spend counts a call that is about to be made, until made says that it was: of a question, or the next one of an attempt. Error:
// Exhausted.
func (p *proposer) spend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.within(1 + p.out); err != nil {
		return err
	}
	p.out++
	return nil
}

// more reports whether an attempt may make one more call, after one that is recorded. Error: Exhausted.
func (p *proposer) more() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.within(p.out)
}

func (p *proposer) made() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
}

// within reports whether the limit on calls has room for so many more. Error: Exhausted.
func (p *proposer) within(more int) error {
	if p.MaxCalls > 0 && p.journal.calls()+more > p.MaxCalls {
		return rl.Errorf(rl.Exhausted, "--max-calls", "%d calls have been made", p.journal.calls())
	}
	return nil
}

// wished is how long a server asked to be left alone.
func wished(err error) time.Duration {
	if e, ok := errors.AsType[*rl.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
