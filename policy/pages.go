package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// How long a server may take to say something, and to do something: an adapter is read from a disk, what is under way is
// finished before a sleep.
const (
	sayTime = 15 * time.Second
	doTime  = 5 * time.Minute
)

// page asks for a page beside the API, whose paths begin at the server's root. Errors are *rl.Error.
func (s *server) page(ctx context.Context, method, page string, in any) ([]byte, error) {
	limit := doTime
	if method == http.MethodGet {
		limit = sayTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, s.server.At, "%s %s: %w", method, page, err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.url, "/v1")+page, body)
	if err != nil {
		return nil, s.server.Failure(err)
	}
	if s.server.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+s.server.Secret)
	}
	r.Header.Set("Content-Type", "application/json")
	_, answer, err := s.server.Reply(r)
	if err != nil {
		return nil, s.server.Failure(err)
	}
	return answer, nil
}

// status is the status of an answer that was a failure; 0: there was none.
func status(err error) int {
	e, _ := errors.AsType[*endpoint.Status](err)
	if e == nil {
		return 0
	}
	return e.Code
}

// models are what the server knows: where each lies by its own words (an adapter: its directory), by name.
func (s *server) models(ctx context.Context) (map[string]*string, error) {
	body, err := s.page(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct{ ID, Root string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, s.server.Nonsense(err)
	}
	known := map[string]*string{}
	for _, m := range list.Data {
		known[m.ID] = &m.Root
	}
	return known, nil
}

// at finds the server at a base URL.
func (c *Client) at(url string) *server {
	return c.servers[slices.IndexFunc(c.servers, func(s *server) bool { return s.url == url })]
}

// AddAdapter has the server at a URL (empty: every one) serve the LoRA adapter in a directory, which it must see under
// the same path, under a name. A server that has it already is left alone; another adapter of that name makes way. What
// vLLM keeps of prompts it tells apart by name and directory, so a directory's content must never change.
//
// Errors are *rl.Error: Refused with the setting to change where the server takes no adapters, Unavailable when no server
// answers. Those that are away do not count: they are asked for the adapter when they are back, and then lack it.
func (c *Client) AddAdapter(ctx context.Context, url, name, dir string) error {
	add := func(ctx context.Context, s *server) error { return s.addAdapter(ctx, name, dir) }
	if url != "" {
		return add(ctx, c.at(url))
	}
	return c.tell(ctx, add)
}

func (s *server) addAdapter(ctx context.Context, name, dir string) error {
	known, err := s.models(ctx)
	if err != nil {
		return err
	}
	if root := known[name]; root != nil {
		if *root == dir {
			return nil
		}
		if err := s.dropAdapter(ctx, name); err != nil {
			return err
		}
	}
	err = s.post(ctx, "/v1/load_lora_adapter", map[string]any{"lora_name": name, "lora_path": dir})
	switch {
	case status(err) == http.StatusNotFound && strings.Contains(err.Error(), "No adapter found"):
		return rl.Errorf(rl.Refused, s.server.At, "it does not see %s: policy.adapters must be a directory that workers and servers share under one path (%w)", dir, err)
	case status(err) == http.StatusNotFound, status(err) == http.StatusMethodNotAllowed:
		return rl.Errorf(rl.Refused, s.server.At, "it loads no adapters: start vLLM with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True and --enable-lora (%w)", err)
	}
	return err
}

// DropAdapters has every server forget adapters for which old says so.
func (c *Client) DropAdapters(ctx context.Context, old func(name string) bool) error {
	return c.tell(ctx, func(ctx context.Context, s *server) error {
		known, err := s.models(ctx)
		for name := range known {
			if err == nil && old(name) {
				err = s.dropAdapter(ctx, name)
			}
		}
		return err
	})
}

// dropAdapter forgets one; a server that does not know it has.
func (s *server) dropAdapter(ctx context.Context, name string) error {
	err := s.post(ctx, "/v1/unload_lora_adapter", map[string]any{"lora_name": name})
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

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
