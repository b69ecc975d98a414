package tinker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/adapter"
	"github.com/longhaul-rl/longhaul/rl"
)

// Adapter fetches the weights that were saved for sampling: keep is called with each of the adapter's files, in no order that
// can be relied on, and reads it to its end. Errors are keep's, and *rl.Error as Do's.
func (c *Client) Adapter(ctx context.Context, sampler string, keep func(name string, r io.Reader) error) error {
	body, err := c.archive(ctx, sampler)
	if err != nil {
		return err
	}
	defer body.Close()
	broken := func(err error) error {
		return rl.Errorf(rl.Unavailable, c.at, "the archive of %s: %w", sampler, err)
	}
	z, err := gzip.NewReader(body)
	if err != nil {
		return broken(err)
	}
	var config []byte
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return broken(fmt.Errorf("it has no %s after %s", adapter.WeightsFile, adapter.ConfigFile))
		case err != nil:
			return broken(err)
		case path.Base(h.Name) == adapter.ConfigFile:
			if config, err = io.ReadAll(io.LimitReader(t, 1<<20)); err != nil {
				return broken(err)
			}
		case path.Base(h.Name) == adapter.WeightsFile && config != nil:
			head, targets, err := tensors(t)
			if err == nil {
				config, err = targeted(config, targets)
			}
			if err != nil {
				return broken(err)
			}
			if err := keep(adapter.ConfigFile, bytes.NewReader(config)); err != nil {
				return err
			}
			return keep(adapter.WeightsFile, io.MultiReader(bytes.NewReader(head), t))
		}
	}
}

// tensors reads the beginning of a safetensors file, and which modules its adapters are of: the name before lora_A.
func tensors(r io.Reader) (head []byte, modules []string, err error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > 64<<20 {
		return nil, nil, fmt.Errorf("%s has a header of %d bytes", adapter.WeightsFile, n)
	}
	names := make([]byte, n)
	if _, err := io.ReadFull(r, names); err != nil {
		return nil, nil, err
	}
	var by map[string]json.RawMessage
	if err := json.Unmarshal(names, &by); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", adapter.WeightsFile, err)
	}
	for name := range by {
		of, _, ok := strings.Cut(name, ".lora_A")
		if module := of[strings.LastIndexByte(of, '.')+1:]; ok && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	return append(size[:], names...), modules, nil
}

// targeted names the modules in adapter_config.json. SkyRL leaves that out, and peft and vLLM would take it for their own
// default, which has fewer.
func targeted(config []byte, modules []string) ([]byte, error) {
	var by map[string]json.RawMessage
	if err := json.Unmarshal(config, &by); err != nil {
		return nil, fmt.Errorf("%s: %w", adapter.ConfigFile, err)
	}
	if by == nil {
		return nil, fmt.Errorf("%s is null", adapter.ConfigFile)
	}
	if string(by["target_modules"]) == "null" || by["target_modules"] == nil {
		by["target_modules"] = rl.CanonicalJSON(modules)
	}
	return json.MarshalIndent(by, "", "  ")
}

// archive asks where the archive is, and fetches it from there. The key goes to the service alone.
func (c *Client) archive(ctx context.Context, sampler string) (io.ReadCloser, error) {
	model, name, _ := strings.Cut(strings.TrimPrefix(sampler, "tinker://"), "/")
	name = strings.TrimPrefix(name, "sampler_weights/")
	at := c.url + "/api/v1/training_runs/" + url.PathEscape(model) + "/checkpoints/" + url.PathEscape(name) + "/archive"
	for range tries {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, rl.Errorf(rl.Invalid, c.at, "%w", err)
		}
		if c.key != "" && strings.HasPrefix(at, c.url+"/") {
			q.Header.Set("X-API-Key", c.key)
		}
		res, err := c.transport.RoundTrip(q)
		switch {
		case err != nil:
			return nil, rl.Errorf(rl.Unavailable, c.at, "the archive of %s: %w", sampler, err)
		case res.StatusCode == http.StatusOK:
			return res.Body, nil
		}
		b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16)) // what there is of the service's words
		res.Body.Close()
		to, err := res.Location()
		if err != nil {
			return nil, c.refused("the archive of "+sampler, c.refusal(res, b))
		}
		at = to.String()
	}
	return nil, rl.Errorf(rl.Unavailable, c.at, "the archive of %s: too many redirections", sampler)
}
