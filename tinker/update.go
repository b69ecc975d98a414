package tinker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tries is how often an update is begun before whoever asked for it is told that the service is not available.
const tries = 5

// Update is one update of a policy.
type Update struct {
	Base Base
	From string // weights with their optimiser, tinker://MODEL/weights/NAME; empty: the base's own initial adapter
	// Name begins the names of what is saved: letters, digits, - and _.
	Name string
	// Train sends the whole batch to a model that has the weights of From, gradients of none, and that nobody else uses.
	// It is called once for each time that the update is begun.
	Train func(ctx context.Context, m *Model) error
	// Again is told why an update is begun once more; it may be nil.
	Again func(try int, why error)
}

// Saved is what an update leaves.
type Saved struct {
	Weights string `json:"weights"` // tinker://MODEL/weights/NAME, with the optimiser
	Sampler string `json:"sampler"` // tinker://MODEL/NAME or /sampler_weights/NAME
}

// Do makes an update, once in effect: Saved is of a model to which the whole batch was sent exactly once, whatever was
// lost on the way. Models that were given up are unloaded, and nothing ever names them.
//
// Errors are *rl.Error: Refused (in the service's words), NotFound (it has no weights From), Unavailable (it does not answer, or
// the update was lost too often), Invalid (its answers contradict themselves).
func (c *Client) Do(ctx context.Context, u Update) (saved Saved, err error) {
	for try := 1; ; try++ {
		saved, err = c.try(ctx, u, try)
		if !errors.Is(err, ErrLost) || ctx.Err() != nil || try == tries {
			return saved, err
		}
		if u.Again != nil {
			u.Again(try+1, err)
		}
		if err := sleep(ctx, time.Duration(try)*pause); err != nil {
			return saved, err
		}
	}
}

func (c *Client) try(ctx context.Context, u Update, try int) (saved Saved, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return saved, err
	}
	defer s.close()
	m, err := s.create(ctx, u.Base)
	if err != nil {
		return saved, err
	}
	defer m.unload(ctx)
	if u.From != "" {
		if err := m.load(ctx, u.From); err != nil {
			return saved, err
		}
	}
	if u.Train != nil {
		if err := u.Train(ctx, m); err != nil {
			return saved, err
		}
	}
	name := fmt.Sprintf("%s-t%d", u.Name, try)
	if saved.Weights, err = m.save(ctx, "save_weights", name); err != nil {
		return saved, err
	}
	saved.Sampler, err = m.save(ctx, "save_weights_for_sampler", name)
	return saved, err
}
