package policy

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/rl"
)

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
		return nil, s.server.Failure(err)
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
