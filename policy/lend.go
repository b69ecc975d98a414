package policy

import (
	"context"
	"errors"
	"net/http"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Pause has the servers stop where they are, the GPUs idle and their memory kept: requests under way and new ones wait,
// however long, and their clocks stand still (Within). Pausing what is paused changes nothing; a server that is away has
// nothing to pause. It needs vLLM's VLLM_SERVER_DEV_MODE=1: without, Refused.
func (c *Client) Pause(ctx context.Context) error { return c.lend(ctx, "/pause?mode=keep") }

// Resume ends a Pause.
func (c *Client) Resume(ctx context.Context) error { return c.lend(ctx, "/resume") }

// Sleep has the servers finish what is under way and then give the GPUs' memory back: weights go to the host's memory,
// caches are dropped. New requests wait as in a Pause. It needs vLLM's --enable-sleep-mode, too.
func (c *Client) Sleep(ctx context.Context) error { return c.lend(ctx, "/sleep?level=1&mode=wait") }

// Wake ends a Sleep.
func (c *Client) Wake(ctx context.Context) error { return c.lend(ctx, "/wake_up") }

// Pausable asks whether the servers can be paused. Errors as Pause.
func (c *Client) Pausable(ctx context.Context) error {
	return c.each(ctx, func(ctx context.Context, s *server) error {
		_, err := s.get(ctx, "/is_paused")
		return s.unpausable(err)
	})
}

func (c *Client) lend(ctx context.Context, page string) error {
	return c.each(ctx, func(ctx context.Context, s *server) error {
		err := s.post(ctx, page, nil)
		if errors.Is(err, endpoint.ErrUnserved) && status(err) == 0 {
			return nil // it was not reached: it holds no GPU
		}
		return s.unpausable(err)
	})
}

func (s *server) unpausable(err error) error {
	if status(err) == http.StatusNotFound {
		return rl.Errorf(rl.Refused, s.server.At, "it cannot be paused: policy.share_gpu needs vLLM with VLLM_SERVER_DEV_MODE=1 (%w)", err)
	}
	return err
}
