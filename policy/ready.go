package policy

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/longhaul-rl/longhaul/endpoint"
	"github.com/longhaul-rl/longhaul/rl"
)

// Ready asks whether the server answers and knows the model: by the model's own page, which makes a server that
// loads models on demand load it, else by the list of models. Errors are *rl.Error as Act's, and NotFound naming
// the models there are.
func (c *Client) Ready(ctx context.Context, model string) error {
	_, err := c.api.GetModel(ctx, url.PathEscape(model))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*rl.Error](err); !ok || e.Kind != rl.Refused {
		return c.server.Failure(err)
	}
	list, err := c.api.ListModels(ctx)
	if err != nil {
		return c.server.Failure(err)
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	if slices.Contains(names, model) {
		return nil
	}
	return rl.Errorf(rl.NotFound, c.server.At, "no model %q; there are: %s", model, endpoint.Shorten(strings.Join(names, ", ")))
}
